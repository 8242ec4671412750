#include "src/evaluator/timed_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "src/evaluator/accuracy.h"
#include "src/evaluator/parallel.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t kept_calls = 3;
constexpr double reference_budget = 2e8; // multiplications of float64 reference a workload
// A graph on a GPU: so many launches that their queries, and so many caches that all of them, have about these sizes.
constexpr std::int64_t bytes_of_queries = std::int64_t{64} << 20;
constexpr std::int64_t bytes_of_caches = std::int64_t{160} << 20;
constexpr int most_launches = 24;

double reference_cost(TimedWorkload const& workload) {
  double pairs = 0;
  for (Rows const& rows : workload.shape.rows) pairs += static_cast<double>(rows.count) * (rows.first + rows.count);
  return 2 * pairs * workload.dataset.shape.query_heads * workload.dataset.shape.head_dim;
}

// Rows that the call shares with a decode or extend call: some of the tokens it computed. A cache can stay where it is.
CallShape other_path(CallShape const& shape, Random& random) {
  CallShape other;
  other.kind = shape.kind == spec::WorkloadKind::decode ? spec::WorkloadKind::extend : spec::WorkloadKind::decode;
  other.layout = spec::KvLayout::contiguous;
  if (shape.layout != spec::KvLayout::packed) other.layout = shape.layout, other.page_size = shape.page_size;
  for (Rows const& rows : shape.rows) other.rows.push_back({rows.sequence, rows.first + random.between(0, rows.count - 1), 1});
  return other;
}

// Whether the rows of `other` have the bits that `outputs` gave the same tokens.
bool same_rows(CallShape const& shape, Outputs const& outputs, CallShape const& other, Outputs const& found,
               tik_attention_shape const& sizes) {
  std::size_t const heads = static_cast<std::size_t>(sizes.query_heads),
                    row_size = heads * static_cast<std::size_t>(sizes.head_dim);
  std::size_t first = 0;
  for (std::size_t b = 0; b < shape.rows.size(); ++b) {
    std::size_t const row = first + static_cast<std::size_t>(other.rows[b].first - shape.rows[b].first);
    if (!std::equal(found.out.data() + b * row_size, found.out.data() + (b + 1) * row_size,
                    outputs.out.data() + row * row_size)) {
      return false;
    }
    if (!std::equal(found.lse.data() + b * heads, found.lse.data() + (b + 1) * heads, outputs.lse.data() + row * heads))
      return false;
    first += static_cast<std::size_t>(shape.rows[b].count);
  }
  return true;
}

Checked<void> verify(Arena& arena, TimedWorkload const& workload, TimedCall const& call, bool against_reference,
                     spec::Checks const& checks, Random& random) {
  CallShape shape = call.shape;
  shape.dense = false; // at other places
  arena.clear();
  Checked<Image> image = Image::place(arena, call.dataset, shape, random);
  if (!image) return tl::unexpected(std::move(image.error()));
  Checked<Outputs> const again = image->run();
  if (!again) return tl::unexpected(again.error());
  if (again->out != call.outputs.out || again->lse != call.outputs.lse) {
    return candidate_failure(
        fmt::format("A timed call of {} gave other bits than the same call in a fresh process.", workload.workload->id));
  }
  if (against_reference) {
    Checked<AccuracyErrors> const errors =
        reference_cost(workload) < reference_budget
            ? errors_against_reference(shape.kind, *image, call.outputs, call.dataset)
            : errors_of_some_rows(shape, *image, call.outputs, call.dataset, reference_budget, random);
    if (!errors) return tl::unexpected(errors.error());
    if (errors->out > checks.accuracy_max_error || errors->lse > checks.lse_max_error) {
      return candidate_failure(
          fmt::format("A timed call of {} is too far from the float64 reference: output error {:.3g}, "
                      "log-sum-exp error {:.3g}.",
                      workload.workload->id, errors->out, errors->lse));
    }
  }
  CallShape const other = other_path(shape, random);
  bool const same_cache = other.layout == shape.layout;
  if (!same_cache) arena.clear();
  Checked<Image> other_image = Image::place(arena, call.dataset, other, random, same_cache ? &*image : nullptr);
  if (!other_image) return tl::unexpected(std::move(other_image.error()));
  Checked<Outputs> const found = other_image->run();
  if (!found) return tl::unexpected(found.error());
  if (!same_rows(shape, call.outputs, other, *found, call.dataset.shape)) {
    return candidate_failure(
        fmt::format("A timed call of {} gave other bits than the other entry point on the same data.", workload.workload->id));
  }
  return {};
}

} // namespace

Launches launches_of(spec::Workload const& workload, spec::AttentionShape const& shape, bool gpu) {
  if (!gpu) return {};
  auto const row = [&](int heads) { return std::int64_t{2} * heads * shape.head_dim; }; // bytes
  bool const decode = workload.kind == spec::WorkloadKind::decode;
  std::int64_t const cache = 2 * workload.batch * (std::int64_t{workload.tokens} + workload.prefix) * row(shape.kv_heads);
  std::int64_t const queries = workload.batch * (decode ? 1 : std::int64_t{workload.tokens}) * row(shape.query_heads);
  auto const fitting = [](std::int64_t bytes, std::int64_t each, int most) {
    return static_cast<int>(std::clamp<std::int64_t>((bytes + each - 1) / each, 1, most));
  };
  Launches launches;
  launches.count = fitting(bytes_of_queries, queries, most_launches);
  if (workload.cache == spec::CacheState::warm) {
    launches.prelude = 1;
    launches.count += 1;
  } else {
    launches.caches = std::min(launches.count, fitting(bytes_of_caches, cache, most_launches));
  }
  return launches;
}

TimedWorkload prepare_workload(spec::Workload const& workload, spec::AttentionShape const& shape, bool gpu, Random& random) {
  TimedWorkload timed;
  timed.workload = &workload;
  timed.launches = launches_of(workload, shape, gpu);
  bool const decode = workload.kind == spec::WorkloadKind::decode;
  int const total = workload.tokens + (decode ? 0 : workload.prefix);
  int const count = decode ? 1 : workload.tokens;
  timed.dataset.shape = contract_shape(shape);
  timed.shape = {workload.kind, {}, workload.layout, workload.page_size, true};
  for (int b = 0; b < workload.batch; ++b) timed.shape.rows.push_back({b, total - count, count});
  if (gpu) return timed;
  DrawnRows rows(timed.dataset.shape, random);
  for (int b = 0; b < workload.batch; ++b) timed.dataset.sequences.push_back(rows.sequence(total, total - count));
  return timed;
}

void renew(TimedWorkload& workload, std::vector<Image*> const& images, Random& random) {
  for (int b = 0; b < static_cast<int>(workload.shape.rows.size()); ++b) {
    Rows const& rows = workload.shape.rows[static_cast<std::size_t>(b)];
    for (int i = 0; i < renewed_tokens; ++i) {
      int const token = random.between(0, rows.first + rows.count - 1);
      redraw_token(workload.dataset, rows.sequence, token, random);
      for (Image* image : images) image->write_token(workload.dataset, b, token);
    }
    int const count = std::min(rows.count, renewed_rows);
    int const first = random.between(0, rows.count - count);
    redraw_queries(workload.dataset, rows.sequence, rows.first + first, count, random);
    for (Image* image : images) image->write_query_rows(workload.dataset, b, first, count);
  }
}

void keep(TimedWorkload& workload, Outputs outputs, Random& random) {
  workload.calls += 1;
  if (workload.kept.size() < kept_calls) {
    workload.kept.push_back({workload.shape, workload.dataset, std::move(outputs)});
  } else if (random.next() % workload.calls < kept_calls) {
    workload.kept[random.next() % kept_calls] = {workload.shape, workload.dataset, std::move(outputs)};
  }
}

namespace {

struct Item {
  TimedWorkload const* workload;
  std::size_t call;
};

// Takes items until none is left, in a worker of its own.
Checked<void> verify_items(StageContext const& context, BuiltImplementation const& candidate, std::vector<Item> const& items,
                           std::atomic<std::size_t>& next, std::uint64_t seed) {
  Checked<Session> session = start_session(context, candidate);
  if (!session) return tl::unexpected(session.error());
  Arena arena(*session);
  Random random(seed);
  for (std::size_t i = next++; i < items.size(); i = next++) {
    Item const& item = items[i];
    bool const against_reference = item.call == 0;
    if (auto same = verify(arena, *item.workload, item.workload->kept[item.call], against_reference,
                           context.specification.checks, random);
        !same) {
      return same;
    }
  }
  return {};
}

std::size_t values_of(TimedCall const& call) {
  std::size_t values = 0;
  for (Sequence const& sequence : call.dataset.sequences)
    values += sequence.queries.size() + sequence.keys.size() + sequence.values.size();
  return values;
}

} // namespace

Checked<int> verify_timed_calls(StageContext const& context, BuiltImplementation const& candidate,
                                std::vector<TimedWorkload> const& workloads) {
  Random random(context.seed ^ 0x766572696679);
  std::vector<Item> items;
  for (TimedWorkload const& workload : workloads) {
    for (std::size_t i = 0; i < workload.kept.size(); ++i) items.push_back({&workload, i});
  }
  random.shuffle(items);
  if (context.gpu()) { // the largest first, so that all workers end at about the same time
    std::stable_sort(items.begin(), items.end(), [](Item const& a, Item const& b) {
      return values_of(a.workload->kept[a.call]) > values_of(b.workload->kept[b.call]);
    });
  }
  std::atomic<std::size_t> next = 0;
  std::size_t const groups = std::min(groups_of(context), std::max<std::size_t>(1, items.size()));
  auto const verified = in_parallel(groups, [&](std::size_t group) {
    return verify_items(context, candidate, items, next, context.seed ^ (0x67726f7570 + group));
  });
  if (!verified) return tl::unexpected(verified.error());
  return static_cast<int>(items.size());
}

} // namespace tik::evaluator
