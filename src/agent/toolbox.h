// The tool surface: what an agent may see and do, whoever it is. The rules are those of src/search; what is here is form.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "src/agent/moves.h"
#include "src/agent/tool.h"
#include "src/agent/tool_choices.h"
#include "src/agent/withheld.h"

namespace tik::agent {

// An audit that runs, or what it came to.
struct AuditProgress {
  ir::ImplementationId implementation;
  std::optional<ir::AuditId> done;             // recorded
  std::vector<ir::AuditId> others;             // recorded with it, of a batch
  std::vector<ir::ImplementationId> held_back; // of a batch: they wait for another audit, beside the present incumbent
  std::string stage;                           // in progress
  double fraction = 0, seconds = 0;
};

// What the tools act on: a search that this process holds, or one step of a run. Each call either records (or keeps, for a
// step) completely or returns the sentence of the rule that it breaks.
class Desk {
 public:
  virtual ~Desk() = default;
  virtual View view() const = 0;
  virtual Result<Workspace::CheckedOut> check_out(std::vector<ir::ImplementationId> const& parents) = 0;
  virtual Result<evaluator::Stage> build() = 0;
  // The answers are what is shown to the agent.
  virtual Result<Json> submit(ActionDraft const& draft, bool batch) = 0;
  virtual Result<Json> decide(ir::AuditId audit, ManagementDraft const& draft) = 0;
  virtual Result<Json> propose(ir::Opportunity const& opportunity) = 0;
  virtual Result<Json> withdraw(ir::Withdrawal const& withdrawal) = 0;
  // Starts the audit of what awaits it (of a batch all, where a host audits), or waits up to `seconds` for the one that runs.
  virtual Result<AuditProgress> audit(double seconds) = 0;
};

// Which of the tools are offered: those that read always, the others by the part of the workflow.
enum class Offer { everything, act, manage };

inline constexpr std::size_t default_answer_bytes = 12000, largest_answer_bytes = 100000;

// What a conversation may still hold: the less it is, the nearer to the end of its stage is what is offered.
enum class Room { ample, little, least };

// What keeps a conversation small.
struct AnswerLimits {
  std::size_t usual = default_answer_bytes; // when a call does not say
  std::size_t largest = largest_answer_bytes;
};
std::vector<Tool> tool_table(Withheld const& withheld, Offer offer, AnswerLimits limits = {});

// Part of an answer: characters [offset, offset + text.size()) of `total`.
struct Answer {
  std::string text;
  bool refused = false; // the text is the sentence that says why
  std::size_t total = 0;
};

class Toolbox {
 public:
  Toolbox(Desk& desk, Withheld withheld, Offer offer, AnswerLimits limits = {});

  std::vector<Tool> const& tools() const { return tools_; }
  AnswerLimits limits() const { return limits_; }
  // From now on the schemas name what there is at present (with_choices), and calls are held to them. The answer: those of the
  // tools that are not refused now whatever their arguments, and lead on: begin_action as long as there is no draft, edit and
  // apply with one, build and submit when its source is new. With little room nothing that only reads is offered; with the
  // least room only the shortest way to the end: apply (or edit, where no declared change applies), then submit.
  Result<std::vector<Tool>> offer_what_is_there(Room room = Room::ample);
  // What is wrong with the call is a refused Answer, so that the agent can do better; an Error is not the agent's fault.
  Result<Answer> call(std::string const& name, Json const& arguments);

 private:
  struct Draft {
    std::filesystem::path folder;
    std::optional<ir::OpportunityId> opportunity;
    std::vector<ir::ImplementationId> parents;
    bool batch = false;
  };
  using Handler = Result<std::string> (Toolbox::*)(Arguments const&);
  static Handler handler_of(std::string_view name);
  Sight sight() const { return {desk_.view(), withheld_}; }

  Result<std::string> state(Arguments const& arguments);
  Result<std::string> list_records(Arguments const& arguments);
  Result<std::string> read_record(Arguments const& arguments);
  Result<std::string> read_source(Arguments const& arguments);
  Result<std::string> diff(Arguments const& arguments);
  Result<std::string> evidence(Arguments const& arguments);
  Result<std::string> begin_action(Arguments const& arguments);
  Result<std::string> edit(Arguments const& arguments);
  Result<std::string> apply(Arguments const& arguments);
  Result<std::string> build(Arguments const& arguments);
  Result<std::string> submit(Arguments const& arguments);
  Result<std::string> audit(Arguments const& arguments);
  Result<std::string> decide(Arguments const& arguments);
  Result<std::string> propose(Arguments const& arguments);
  Result<std::string> withdraw(Arguments const& arguments);

  Result<Draft const*> draft() const;
  // What the draft's manifest declares, and the changes of it that the draft's text admits.
  struct Declared {
    spec::Manifest manifest;
    Tree tree;
    std::vector<Move> changes;
  };
  Result<Declared> declared_changes() const;
  Result<Inventory> inventory() const;
  // Whether there is a draft whose source no implementation has.
  Result<bool> is_new_draft() const;
  // Every file of an implementation, or of the draft for the name "draft".
  Result<std::vector<SourceFile>> files_of(std::string const& which) const;

  Desk& desk_;
  Withheld withheld_;
  Offer offer_;
  AnswerLimits limits_;
  std::vector<Tool> tools_;
  std::optional<Draft> draft_;
};

// JSON as the tools show it: what fits is one line, else an element a line. Deep indentation would be a third of what a model
// reads.
std::string pretty(Json const& json);
// With six digits of every number: those of a measurement mean no more, and each is read as a token or more.
Json rounded(Json const& json);
// The next step of the workflow, in a sentence.
std::string next_step(search::State const& state, bool drafting);

} // namespace tik::agent
