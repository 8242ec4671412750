// Any bytes as an imported record: a sentence, or a record whose body reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "src/base/json.h"
#include "src/ir/records.h"

namespace {

template <class Record>
void reads_back(tik::Json const& json, tik::Result<Record> (*read)(tik::Json const&)) {
  auto const record = read(json);
  if (!record) {
    if (record.error().message.empty()) std::abort();
    return;
  }
  auto const again = read(tik::ir::to_json(*record));
  if (!again || tik::ir::to_json(*again) != tik::ir::to_json(*record)) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const json = tik::parse_json({reinterpret_cast<char const*>(data), size}, "record");
  if (!json) return 0;
  reads_back(*json, tik::ir::opportunity_from_json);
  reads_back(*json, tik::ir::withdrawal_from_json);
  reads_back(*json, tik::ir::implementation_from_json);
  reads_back(*json, tik::ir::action_from_json);
  reads_back(*json, tik::ir::audit_from_json);
  reads_back(*json, tik::ir::lineage_decision_from_json);
  reads_back(*json, tik::ir::model_usage_from_json);
  return 0;
}
