#include "src/ir/any_id.h"

#include <fmt/format.h>

namespace tik::ir {
namespace {

template <char L>
Result<AnyId> parse_as(std::string const& text) {
  TIK_TRY(Id<L> const id, parse_id<L>(text));
  return AnyId(id);
}

} // namespace

Result<AnyId> parse_any_id(std::string const& text) {
  switch (text.empty() ? '\0' : text[0]) {
    case 'I':
      return parse_as<'I'>(text);
    case 'O':
      return parse_as<'O'>(text);
    case 'A':
      return parse_as<'A'>(text);
    case 'U':
      return parse_as<'U'>(text);
    case 'L':
      return parse_as<'L'>(text);
  }
  return input_error(
      fmt::format("{}: not a record's id. Ids look like I7 (implementation), O12 (opportunity), A7 (action), U7 (audit) or L7 "
                  "(lineage decision).",
                  text.empty() ? "''" : text));
}

} // namespace tik::ir
