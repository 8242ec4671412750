#include "src/evaluator/device_inputs.h"

#include <algorithm>

#include "src/evaluator/parallel.h"
#include "src/evaluator/timed_calls.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t drawn_at_once = 4096; // values
constexpr std::size_t threads = 8;          // the time goes into pages that are touched first

} // namespace

Result<std::shared_ptr<SharedMemory>> draw_inputs(MemoryNeed const& need, DrawnValues const& values, Random& random) {
  TIK_TRY(SharedMemory made, SharedMemory::make(need.input_bytes, SharedMemory::Access::worker_reads));
  auto memory = std::make_shared<SharedMemory>(std::move(made));
  std::size_t const count = need.value_bytes / sizeof(tik_bf16);
  auto* const target = reinterpret_cast<tik_bf16*>(memory->bytes().data());
  std::uint64_t const seed = random.next();
  auto const drawn = in_parallel(threads, [&](std::size_t thread) -> Checked<void> {
    Random own(seed + thread);
    std::size_t const end = count * (thread + 1) / threads;
    for (std::size_t at = count * thread / threads; at < end; at += drawn_at_once)
      values.copy(target + at, std::min(drawn_at_once, end - at), own);
    return {};
  });
  if (!drawn) return machine_error("The inputs of a measurement cannot be drawn: " + drawn.error().message);
  return memory;
}

std::vector<Extent> renew_in_place(Image const& image, bool tokens_too, DrawnValues const& values, Random& random) {
  std::vector<Extent> changed;
  auto const draw = [&](Extent const& extent) {
    for (std::size_t begin = extent.begin; begin < extent.end;) {
      std::size_t const end = std::min(extent.end, begin + drawn_at_once * sizeof(tik_bf16));
      values.copy(image.input_values(begin), (end - begin) / sizeof(tik_bf16), random);
      begin = end;
    }
    // Queries of a batch lie side by side.
    if (!changed.empty() && changed.back().end == extent.begin) {
      changed.back().end = extent.end;
    } else {
      changed.push_back(extent);
    }
  };
  std::vector<Rows> const& all = image.shape().rows;
  for (int b = 0; b < static_cast<int>(all.size()); ++b) {
    Rows const& rows = all[static_cast<std::size_t>(b)];
    int const count = std::min(rows.count, renewed_rows);
    draw(image.query_extent(b, random.between(0, rows.count - count), count));
  }
  for (int b = 0; b < static_cast<int>(all.size()) && tokens_too; ++b) {
    Rows const& rows = all[static_cast<std::size_t>(b)];
    for (int i = 0; i < renewed_tokens; ++i) {
      for (Extent const& extent : image.token_extents(b, random.between(0, rows.first + rows.count - 1))) draw(extent);
    }
  }
  return changed;
}

} // namespace tik::evaluator
