#include "operators/linear/sm90/describe.h"
#include "operators/linear/sm90/describe_algorithm.h"

namespace tik::operators::sm90 {

std::string describe(Choice const& choice) {
  using validation::join;
  std::string way;
  if (auto const& cut = choice.plan.strip) {
    way = join({"strip kernel, ", cut->strip_rows, " weight rows x ", cut->tile_tokens, " tokens a block, ", cut->stage_chunks,
                " chunks a stage, ", cut->ring_bytes / 1024, " KiB of stages"});
  } else {
    way = describe(choice.plan.algorithm);
  }
  return way + join({"; ", choice.us, " us, next of ", choice.contenders, ": ", choice.next_us, " us"});
}

} // namespace tik::operators::sm90
