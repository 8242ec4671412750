#include "src/report/usage.h"

#include <fmt/format.h>

#include <map>

#include "src/base/json.h"

namespace tik::report {
namespace {

// What a usage's raw body says about a failure; bodies of others may hold anything.
bool says_failure(ir::Json const& raw) {
  return raw.is_object() && raw.contains("failure") && raw["failure"].is_string() &&
         !raw["failure"].get_ref<std::string const&>().empty();
}

} // namespace

std::optional<double> efficiency(double speedup, std::int64_t tokens) {
  if (tokens <= 0) return std::nullopt;
  return (speedup - 1) / (static_cast<double>(tokens) / 1e6);
}

std::string efficiency_words(double value) { return fmt::format("{:.3g} per million tokens", value); }

Result<Usage> read_usage(ir::Store const& store) {
  Usage usage;
  search::State state;
  TIK_CHECK(store.replay(0, [&](std::int64_t sequence, std::string_view, ir::Event const& event) {
    search::apply(state, sequence, event);
    auto const* const audit = std::get_if<ir::AuditEvent>(&event);
    if (audit != nullptr && audit->implementation != state.root)
      usage.steps.push_back({state.steps, state.speedup(), state.model_tokens});
  }));
  if (state.model_tokens == 0) usage.steps.clear();
  std::map<std::pair<std::string, std::string>, PurposeUsage> by_purpose;
  TIK_CHECK(store.read_journal([&](ir::JournalEntry const& entry) -> Result<void> {
    if (entry.type != "model_usage") return {};
    TIK_TRY(ir::Json const body, parse_json(entry.body, "model usage"));
    TIK_TRY(ir::ModelUsage const record, ir::model_usage_from_json(body));
    PurposeUsage& sum = by_purpose[{record.purpose, record.model}];
    sum.purpose = record.purpose;
    sum.model = record.model;
    ++sum.attempts;
    sum.failed += says_failure(record.raw) ? 1 : 0;
    sum.estimated += record.estimated ? 1 : 0;
    sum.input_tokens += record.input_tokens;
    sum.output_tokens += record.output_tokens;
    return {};
  }));
  for (auto& [key, sum] : by_purpose) usage.purposes.push_back(std::move(sum));
  return usage;
}

} // namespace tik::report
