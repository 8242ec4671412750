#include <algorithm>
#include <chrono>
#include <vector>

#include "operators/linear/sm90/choose.h"
#include "operators/linear/sm90/heats.h"
#include "operators/linear/sm90/trial.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

constexpr char const* doing = "choosing an algorithm for tik_linear";
constexpr int64_t most_outputs = int64_t{1} << 27; // 256 MiB of bfloat16
constexpr int most_tokens = 16384;
constexpr int most_verified_tokens = 4096;
constexpr int most_strip_tokens = 256; // with more, the library is the faster one
// Different weights: together more than the L2 cache holds, several times over.
constexpr int most_weights = 64;
constexpr int64_t most_weight_bytes = int64_t{1} << 28;

Refusal differs(tik_linear_args const& args, Plan const& plan, unsigned long differences, int64_t outputs) {
  if (plan.strip) {
    return {TIK_DEVICE_ERROR,
            validation::sentence("The strip kernel of tik_linear computes ", differences, " of ", outputs, " outputs of ",
                                 args.tokens, " tokens, in_features ", args.in_features, ", out_features ", args.out_features,
                                 " with other bits than the canonical chain: please report this.")};
  }
  return {TIK_DEVICE_ERROR,
          validation::sentence(
              "cuBLASLt ", static_cast<unsigned long>(vendor_library().version()), " computes ", differences, " of ", outputs,
              " outputs of ", args.tokens, " tokens, in_features ", args.in_features, ", out_features ", args.out_features,
              " with other bits than the canonical chain: name another version of the library in TIK_CUBLASLT.")};
}

std::vector<Plan> strip_plans(tik_linear_args const& args) {
  std::vector<Plan> plans;
  for (StripCut const& cut : strip_candidates(args.tokens, args.out_features)) plans.push_back({cut, {}});
  return plans;
}

// The library's generic algorithm: without split-K and yet not the chain, and some 50 times slower than the others.
constexpr int generic_algorithm = 16;

int id_of(Algorithm const& algorithm) {
  int id = 0;
  std::size_t written = 0;
  vendor_library().read_algorithm(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
  return id;
}

// What the library suggests that is the chain; nothing when it could not be loaded.
std::vector<Plan> vendor_plans(tik_linear_args const& args) {
  std::vector<Plan> plans;
  if (!vendor_library().problem.empty()) return plans;
  Suggestions const suggestions = suggest_algorithms(forward_product(args));
  for (int i = 0; i < suggestions.count; ++i) {
    if (id_of(suggestions.algorithms[i]) != generic_algorithm) plans.push_back({std::nullopt, suggestions.algorithms[i]});
  }
  return plans;
}

// Random operands for calls of the sizes of `args`.
struct Operands {
  tik_linear_args call;
  int64_t weight_size;
  int weights;

  Operands(tik_linear_args const& args, Trial& trial) : call(args), weight_size(int64_t{args.out_features} * args.in_features) {
    call.tokens = static_cast<int>(
        std::clamp<int64_t>(most_outputs / args.out_features, 1, std::min(token_bucket(args.tokens), most_tokens)));
    weights = static_cast<int>(std::clamp<int64_t>(most_weight_bytes / (2 * weight_size), 1, most_weights));
    call.stream = trial.stream;
    call.x = {static_cast<tik_bf16*>(trial.allocate(int64_t{call.tokens} * args.in_features * 2, 1)), args.in_features, 0};
    call.weight = {static_cast<tik_bf16*>(trial.allocate(weights * weight_size * 2, 2)), args.in_features, 0};
    if (args.bias) call.bias = static_cast<tik_bf16*>(trial.allocate(int64_t{args.out_features} * 2, 3));
    if (args.workspace) call.workspace = trial.allocate(TIK_LINEAR_WORKSPACE_BYTES, 4);
    call.out_stride = args.out_features;
    call.out = trial.allocate(out_bytes(call.tokens), 5);
  }
  int64_t out_bytes(int tokens) const { return int64_t{tokens} * call.out_features * (call.out_type == TIK_FP32 ? 4 : 2); }

  // Launches with one of the weights; whether that worked.
  bool launch(Plan const& plan, int turn) const {
    tik_linear_args with_other_weight = call;
    with_other_weight.weight.data += turn % weights * weight_size;
    return !launch_plan(with_other_weight, plan);
  }
  // Launches that take some 200 us when bandwidth or operations bound them.
  int launches() const {
    double const us = std::max(2.0 * weight_size / 4e6, 2.0 * weight_size * call.tokens / 700e6);
    return static_cast<int>(std::clamp(200 / us, 1.0, 16.0));
  }
};

// Adds the plans that can be launched.
void add_launchable(std::vector<Plan> const& plans, Operands const& operands, Trial& trial, std::vector<Plan>& contenders) {
  for (Plan const& plan : plans) {
    if (trial.error != cudaSuccess) return;
    if (operands.launch(plan, 0)) {
      contenders.push_back(plan);
    } else {
      cudaGetLastError(); // the library has it for other numbers of tokens: not an error of what follows
    }
  }
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Choice fastest_of(std::vector<Plan> const& contenders, Operands const& operands, Trial& trial) {
  int const launches = operands.launches();
  int launched = 0; // so that weights take turns where one launch is long enough to be timed
  auto const time = [&](int contender) {
    launched += launches;
    return trial.time_ms(launches, [&](int turn) { operands.launch(contenders[contender], launched + turn); });
  };
  std::vector<Standing> const standings = run_heats(static_cast<int>(contenders.size()), time, now_ms);
  auto const us = [&](Standing const& standing) { return standing.ms * 1e3f / launches; };
  Standing const& first = standings.front();
  Standing const& next = standings.size() > 1 ? standings[1] : first;
  return {contenders[first.contender], static_cast<int>(contenders.size()), us(first), us(next)};
}

std::optional<Refusal> verify(Operands const& operands, Plan const& plan, Trial& trial) {
  tik_linear_args call = operands.call;
  call.tokens = std::min(call.tokens, most_verified_tokens);
  int64_t const bytes = operands.out_bytes(call.tokens);
  tik_linear_args simple = call;
  simple.out = trial.allocate(bytes, 6);
  if (trial.error == cudaSuccess) trial.keep(cudaMemsetAsync(call.out, 0xff, bytes, trial.stream));
  if (auto bad = device_error(doing, trial.error)) return bad;
  trial.keep(launch_simple(simple));
  if (auto bad = launch_plan(call, plan)) return bad;
  auto const different = static_cast<unsigned long>(trial.differences(simple.out, call.out, bytes));
  if (auto bad = device_error(doing, trial.error)) return bad;
  if (different > 0) return differs(call, plan, different, int64_t{call.tokens} * call.out_features);
  return std::nullopt;
}

} // namespace

std::optional<Refusal> launch_plan(tik_linear_args const& args, Plan const& plan) {
  if (plan.strip) return device_error("launching tik_linear", launch_strip(args, *plan.strip));
  return multiply(forward_product(args), plan.algorithm, static_cast<cudaStream_t>(args.stream));
}

std::optional<Refusal> choose_verified(tik_linear_args const& args, Choice& chosen) {
  Trial trial;
  Operands const operands(args, trial);
  if (auto bad = device_error(doing, trial.error)) return bad;
  tik_linear_args bucket = operands.call;
  bucket.tokens = token_bucket(args.tokens);
  std::vector<Plan> contenders;
  add_launchable(vendor_plans(bucket), operands, trial, contenders);
  // The library lacks some forms, among them a bias added to fp32; strips have all.
  if (bucket.tokens <= most_strip_tokens || contenders.empty())
    add_launchable(strip_plans(bucket), operands, trial, contenders);
  if (auto bad = device_error(doing, trial.error)) return bad;
  if (contenders.empty()) {
    return Refusal{TIK_DEVICE_ERROR,
                   validation::sentence("No kernel of tik_linear could be launched for tokens ", args.tokens, ", in_features ",
                                        args.in_features, ", out_features ", args.out_features, ".")};
  }
  chosen = fastest_of(contenders, operands, trial);
  return verify(operands, chosen.plan, trial);
}

} // namespace tik::operators::sm90
