// What an agent is not shown: the paper's five ablations. They take away sight and choices, never a check.
#pragma once

#include <string>
#include <vector>

#include "src/agent/agent.h"
#include "src/base/json.h"
#include "src/ir/any_id.h"

namespace tik::agent {

struct Withheld {
  bool history = false;       // only the incumbent and its audit are shown, and what awaits its audit or decision
  bool numerics = false;      // the numerical requirements between the entry points and the risks of actions
  bool evidence = false;      // all of an audit but the outcomes of its checks and T
  bool opportunities = false; // modifications are proposed directly, from no recorded opportunity
  bool lineage = false;       // every action starts from the incumbent; what does not replace it is archived

  bool any() const { return history || numerics || evidence || opportunities || lineage; }
  bool operator==(Withheld const&) const = default;
};

// "history, evidence"; empty when nothing is withheld.
std::string to_string(Withheld const& withheld);
// From the names of `--without`; the error lists those that there are.
Result<Withheld> withheld_from(std::vector<std::string> const& names);
// What records call an agent whose sight was limited: "NAME, without history, evidence".
std::string agent_name(std::string const& name, Withheld const& withheld);

// What of a search may be shown.
class Sight {
 public:
  Sight(View view, Withheld withheld) : view_(view), withheld_(withheld) {}

  View const& view() const { return view_; }
  Withheld const& withheld() const { return withheld_; }
  bool sees(ir::ImplementationId id) const;
  bool sees(ir::AuditId id) const;
  bool sees(ir::ActionId id) const;
  bool sees(ir::OpportunityId id) const;
  bool sees(ir::LineageId id) const;
  // An input error that says what is withheld instead.
  Result<void> may_see(ir::AnyId id) const;
  template <class Ids>
  Ids only_seen(Ids const& ids) const {
    Ids kept;
    for (auto const& id : ids)
      if (sees(id)) kept.insert(kept.end(), id);
    return kept;
  }
  // The ids among texts such as "I3", "U7" that may be seen; other texts are kept.
  std::vector<std::string> only_seen_texts(std::vector<std::string> const& ids) const;

  // Bodies without what is withheld.
  Json shown(ir::Opportunity const& opportunity) const;
  Json shown(ir::Implementation const& implementation) const;
  Json shown(ir::Action const& action) const;
  Json shown(ir::Audit const& audit) const; // without samples; evidence by name alone: the tool `evidence` has it
  Json shown(ir::LineageDecision const& decision) const;
  // A file's text with every line that states a numerical requirement replaced, so that line numbers stay.
  std::string shown_source(std::string const& file, std::string text) const;
  // A diff that shows nothing of a file whose lines are withheld.
  std::string shown_diff(std::string const& diff) const;

 private:
  View view_;
  Withheld withheld_;
};

} // namespace tik::agent
