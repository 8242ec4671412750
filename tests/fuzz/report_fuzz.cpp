// Any bytes as an evaluator's report: a sentence, or a report that reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "src/base/json.h"
#include "src/evaluator/report.h"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const json = tik::parse_json({reinterpret_cast<char const*>(data), size}, "report");
  if (!json) return 0;
  auto const report = tik::evaluator::report_from_json(*json);
  if (!report) return report.error().message.empty() ? std::abort(), 1 : 0;
  auto const again = tik::evaluator::report_from_json(tik::evaluator::to_json(*report));
  if (!again || tik::evaluator::to_json(*again) != tik::evaluator::to_json(*report)) std::abort();
  return 0;
}
