#include "src/evaluator/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators/attention/reference.h"
#include "src/evaluator/stages.h"

namespace tik::evaluator {
namespace {

constexpr double whole_call = 1.5e9; // multiplications of the reference of a call whose every row is compared
constexpr double some_rows = 2e8;    // of those rows of a longer call that are
constexpr int longest_cache = 1024;  // tokens of a decode check; longer workloads are checked up to here

attention::Entry entry_of(spec::WorkloadKind kind) {
  switch (kind) {
    case spec::WorkloadKind::full:
      return attention::Entry::full;
    case spec::WorkloadKind::extend:
      return attention::Entry::extend;
    case spec::WorkloadKind::decode:
      return attention::Entry::decode;
  }
  return attention::Entry::full;
}

char const* name_of(spec::WorkloadKind kind) {
  switch (kind) {
    case spec::WorkloadKind::full:
      return "full";
    case spec::WorkloadKind::extend:
      return "extend";
    case spec::WorkloadKind::decode:
      return "decode";
  }
  return "full";
}

// A call of each kind on sequences as long as the checks and workloads ask for.
std::vector<CallShape> call_shapes(spec::Specification const& specification, Dataset const& dataset) {
  std::vector<Rows> whole, tail, last;
  for (int b = 0; b < static_cast<int>(dataset.sequences.size()); ++b) {
    int const tokens = dataset.sequences[static_cast<std::size_t>(b)].tokens;
    int const chunk = std::max(1, tokens / 3);
    if (b > 0) whole.push_back({b, 0, tokens}); // the first is as long as a decode workload: too long for a full call
    tail.push_back({b, tokens - chunk, chunk});
    last.push_back({b, tokens - 1, 1});
  }
  tail.erase(tail.begin());
  int const page_size = specification.checks.page_sizes.empty() ? 16 : specification.checks.page_sizes.back();
  return {{spec::WorkloadKind::full, whole, spec::KvLayout::packed, 0, false},
          {spec::WorkloadKind::extend, tail, spec::KvLayout::paged, page_size, false},
          {spec::WorkloadKind::decode, last, spec::KvLayout::contiguous, 0, false}};
}

std::vector<int> sequence_lengths(spec::Specification const& specification) {
  int decode = 1, full = 1;
  for (spec::Workload const& workload : specification.workloads) {
    if (workload.kind == spec::WorkloadKind::decode) decode = std::max(decode, workload.tokens);
  }
  for (int const prompt : specification.checks.prompts) full = std::max(full, prompt);
  int response = 0;
  for (int const value : specification.checks.responses) response = std::max(response, value);
  full += response;
  return {std::min(decode, longest_cache), full, std::max(1, full / 2 + 1)};
}

// The largest |v|, of each sequence's first values when there are very many.
double largest_value(Dataset const& dataset) {
  constexpr std::size_t most = std::size_t{1} << 22;
  float largest = 0;
  for (Sequence const& sequence : dataset.sequences) {
    std::size_t const count = std::min(sequence.values.size(), most);
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(to_float(sequence.values[i])));
  }
  return largest;
}

// One query row of a call as a decode call of its own: `row` of the call is at `position` of its `row_range`-th sequence.
struct OneRow {
  tik_attention_args args;
  int32_t length;
};
void single_out(OneRow& one, CallShape const& shape, tik_attention_args const& call, int row_range, int row, int position) {
  int const first_row = row - (position - shape.rows[static_cast<std::size_t>(row_range)].first);
  one.length = position + 1;
  one.args = call;
  one.args.batch = 1;
  one.args.queries = call.queries + row * call.query_token_stride;
  one.args.query_offsets = nullptr;
  one.args.kv_lengths = &one.length;
  tik_kv_view& kv = one.args.kv;
  int64_t const begin = shape.layout == spec::KvLayout::packed ? first_row * kv.token_stride : row_range * kv.sequence_stride;
  if (shape.layout == spec::KvLayout::paged) {
    kv.page_table += static_cast<std::ptrdiff_t>(row_range) * kv.page_table_stride;
  } else {
    kv.layout = TIK_KV_CONTIGUOUS;
    kv.keys += begin;
    kv.values += begin;
  }
}

void widen(AccuracyErrors& errors, attention::Reference const& reference, tik_bf16 const* out, float const* lse, double scale) {
  for (std::size_t i = 0; i < reference.out.size(); ++i) {
    errors.out = std::max(errors.out, std::abs(static_cast<double>(to_float(out[i])) - reference.out[i]) / scale);
  }
  for (std::size_t i = 0; i < reference.lse.size(); ++i) {
    errors.lse = std::max(errors.lse, std::abs(static_cast<double>(lse[i]) - reference.lse[i]));
  }
}

Checked<AccuracyErrors> measure(Arena& arena, Dataset const& dataset, CallShape const& shape, Random& random) {
  arena.clear();
  Checked<Image> image = Image::place(arena, dataset, shape, random);
  if (!image) return tl::unexpected(std::move(image.error()));
  Checked<Outputs> const outputs = image->run();
  if (!outputs) return tl::unexpected(outputs.error());
  double pairs = 0;
  for (Rows const& rows : shape.rows) pairs += static_cast<double>(rows.count) * (rows.first + 1 + 0.5 * rows.count);
  if (2 * pairs * dataset.shape.query_heads * dataset.shape.head_dim > whole_call) {
    return errors_of_some_rows(shape, *image, *outputs, dataset, some_rows, random);
  }
  return errors_against_reference(shape.kind, *image, *outputs, dataset);
}

} // namespace

Checked<AccuracyErrors> errors_against_reference(spec::WorkloadKind kind, Image const& image, Outputs const& outputs,
                                                 Dataset const& dataset) {
  attention::Reference reference;
  if (auto refused = attention::compute_reference(entry_of(kind), image.host_args(), reference)) {
    return machine_failure({ErrorKind::input, "The reference refuses the specification's shape: " + refused->sentence});
  }
  AccuracyErrors errors;
  widen(errors, reference, outputs.out.data(), outputs.lse.data(), largest_value(dataset));
  return errors;
}

Checked<AccuracyErrors> errors_of_some_rows(CallShape const& shape, Image const& image, Outputs const& outputs,
                                            Dataset const& dataset, double multiplications, Random& random) {
  tik_attention_args const call = image.host_args();
  std::size_t const heads = static_cast<std::size_t>(call.shape.query_heads),
                    row_size = heads * static_cast<std::size_t>(call.shape.head_dim);
  double const scale = largest_value(dataset);
  AccuracyErrors errors;
  do {
    int const row_range = random.between(0, static_cast<int>(shape.rows.size()) - 1);
    int first_row = 0;
    for (int b = 0; b < row_range; ++b) first_row += shape.rows[static_cast<std::size_t>(b)].count;
    Rows const& rows = shape.rows[static_cast<std::size_t>(row_range)];
    int const index = random.between(0, rows.count - 1);
    OneRow one;
    single_out(one, shape, call, row_range, first_row + index, rows.first + index);
    attention::Reference reference;
    if (auto refused = attention::compute_reference(attention::Entry::decode, one.args, reference)) {
      return machine_failure({ErrorKind::input, "The reference refuses the specification's shape: " + refused->sentence});
    }
    std::size_t const row = static_cast<std::size_t>(first_row + index);
    widen(errors, reference, outputs.out.data() + row * row_size, outputs.lse.data() + row * heads, scale);
    multiplications -= 2.0 * static_cast<double>(row_size) * one.length;
  } while (multiplications > 0);
  return errors;
}

Checked<StageText> check_accuracy(StageContext const& context, BuiltImplementation const& candidate) {
  spec::Checks const& checks = context.specification.checks;
  Checked<Session> session = start_session(context, candidate);
  if (!session) return tl::unexpected(session.error());
  Arena arena(*session);
  Random random(context.seed ^ 0x6163637572616379);
  Json table = Json::array();
  AccuracyErrors worst;
  for (std::string const& name : checks.accuracy_distributions) {
    Dataset const dataset = draw(contract_shape(context.specification.shape), sequence_lengths(context.specification),
                                 distribution_from(name), random);
    for (CallShape const& shape : call_shapes(context.specification, dataset)) {
      Checked<AccuracyErrors> const errors = measure(arena, dataset, shape, random);
      if (!errors) return tl::unexpected(errors.error());
      table.push_back(
          {{"distribution", name}, {"call", name_of(shape.kind)}, {"out_error", errors->out}, {"lse_error", errors->lse}});
      worst = {std::max(worst.out, errors->out), std::max(worst.lse, errors->lse)};
      if (errors->out > checks.accuracy_max_error || errors->lse > checks.lse_max_error) {
        bool const out = errors->out > checks.accuracy_max_error;
        return candidate_failure(
            fmt::format("{} is too far from the float64 reference for {} inputs: {} error {:.3g}, at most {:.3g}.",
                        name_of(shape.kind), name, out ? "output" : "log-sum-exp", out ? errors->out : errors->lse,
                        out ? checks.accuracy_max_error : checks.lse_max_error),
            {{"errors", table}});
      }
    }
    context.report_progress(static_cast<double>(table.size()) / static_cast<double>(3 * checks.accuracy_distributions.size()));
  }
  return StageText{
      fmt::format("Largest error against float64: output {:.2g} of max|v|, log-sum-exp {:.2g}.", worst.out, worst.lse),
      {{"errors", table},
       {"largest_out_error", worst.out},
       {"largest_lse_error", worst.lse},
       {"workers", close_workers({&*session})}}};
}

} // namespace tik::evaluator
