// Which record an id names, from its letter.
#pragma once

#include <variant>

#include "src/ir/records.h"

namespace tik::ir {

using AnyId = std::variant<ImplementationId, OpportunityId, ActionId, AuditId, LineageId>;

// "I7", "O12", "A7", "U7" or "L7"; the error says what ids look like.
Result<AnyId> parse_any_id(std::string const& text);

// A list of ids of one type; the error names the one that is none.
template <char L>
Result<std::vector<Id<L>>> parse_ids(std::vector<std::string> const& texts) {
  std::vector<Id<L>> ids;
  for (std::string const& text : texts) {
    TIK_TRY(Id<L> const id, parse_id<L>(text));
    ids.push_back(id);
  }
  return ids;
}

} // namespace tik::ir
