#include "src/evaluator/timed_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/evaluator/accuracy.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t kept_calls = 3;
constexpr int renewed_tokens = 4;        // keys and values that change before every timed call, a sequence
constexpr int renewed_rows = 8;          // queries that change, a sequence
constexpr double reference_budget = 2e8; // multiplications of float64 reference a workload

double reference_cost(TimedWorkload const& workload) {
  double pairs = 0;
  for (Rows const& rows : workload.shape.rows) pairs += static_cast<double>(rows.count) * (rows.first + rows.count);
  return 2 * pairs * workload.dataset.shape.query_heads * workload.dataset.shape.head_dim;
}

// Rows that the call shares with a decode or extend call of another layout: some of the tokens it computed.
CallShape other_path(CallShape const& shape, Random& random) {
  CallShape other;
  other.kind = shape.kind == spec::WorkloadKind::decode ? spec::WorkloadKind::extend : spec::WorkloadKind::decode;
  other.layout = spec::KvLayout::contiguous;
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
  CallShape shape = workload.shape;
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
    Checked<AccuracyErrors> const errors = errors_against_reference(shape.kind, *image, call.outputs, call.dataset);
    if (!errors) return tl::unexpected(errors.error());
    if (errors->out > checks.accuracy_max_error || errors->lse > checks.lse_max_error) {
      return candidate_failure(
          fmt::format("A timed call of {} is too far from the float64 reference: output error {:.3g}, "
                      "log-sum-exp error {:.3g}.",
                      workload.workload->id, errors->out, errors->lse));
    }
  }
  CallShape const other = other_path(shape, random);
  arena.clear();
  Checked<Image> other_image = Image::place(arena, call.dataset, other, random);
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

TimedWorkload prepare_workload(spec::Workload const& workload, tik_attention_shape const& shape, Random& random) {
  TimedWorkload timed;
  timed.workload = &workload;
  timed.shape = {workload.kind, {}, workload.layout, workload.page_size, true};
  bool const decode = workload.kind == spec::WorkloadKind::decode;
  int const total = workload.tokens + (decode ? 0 : workload.prefix);
  int const count = decode ? 1 : workload.tokens;
  std::vector<int> tokens;
  for (int b = 0; b < workload.batch; ++b) {
    tokens.push_back(total);
    timed.shape.rows.push_back({b, total - count, count});
  }
  timed.dataset = draw(shape, tokens, Distribution::normal, random);
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
    int const first = rows.first + random.between(0, rows.count - count);
    redraw_queries(workload.dataset, rows.sequence, first, count, random);
  }
  for (Image* image : images) image->write_queries(workload.dataset);
}

void keep(TimedWorkload& workload, Outputs outputs, Random& random) {
  workload.calls += 1;
  if (workload.kept.size() < kept_calls) {
    workload.kept.push_back({workload.dataset, std::move(outputs)});
  } else if (random.next() % workload.calls < kept_calls) {
    workload.kept[random.next() % kept_calls] = {workload.dataset, std::move(outputs)};
  }
}

Checked<int> verify_timed_calls(StageContext const& context, BuiltImplementation const& candidate,
                                std::vector<TimedWorkload> const& workloads) {
  Checked<Session> session = start_session(context, candidate);
  if (!session) return tl::unexpected(session.error());
  Arena arena(*session);
  Random random(context.seed ^ 0x766572696679);
  struct Item {
    TimedWorkload const* workload;
    std::size_t call;
  };
  std::vector<Item> items;
  for (TimedWorkload const& workload : workloads) {
    for (std::size_t i = 0; i < workload.kept.size(); ++i) items.push_back({&workload, i});
  }
  random.shuffle(items);
  for (Item const& item : items) {
    bool const against_reference = item.call == 0 && reference_cost(*item.workload) < reference_budget;
    if (auto same = verify(arena, *item.workload, item.workload->kept[item.call], against_reference,
                           context.specification.checks, random);
        !same) {
      return tl::unexpected(same.error());
    }
  }
  return static_cast<int>(items.size());
}

} // namespace tik::evaluator
