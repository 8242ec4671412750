// Which plan serves which product: found once, then kept for the process.
#include <map>
#include <mutex>
#include <tuple>

#include "operators/linear/sm90/choose.h"
#include "operators/linear/sm90/describe.h"
#include "operators/linear/sm90/plans.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

// What a plan is chosen for: device, rows, columns and depth with the tokens' part as its bucket, then the form.
using Key = std::tuple<int, int, int, int, bool, bool, bool, bool, bool>;

Key key_of(Product const& product) {
  int device = 0;
  cudaGetDevice(&device);
  return {device,
          product.rows,
          product.columns,
          product.depth,
          product.a_transposed,
          product.b_transposed,
          product.fp32_out,
          product.row_bias != nullptr,
          product.workspace != nullptr};
}

class Plans {
 public:
  std::optional<Choice> find(Key const& key) {
    std::lock_guard const lock(mutex_);
    auto const found = plans_.find(key);
    if (found == plans_.end()) return std::nullopt;
    return found->second;
  }
  void keep(Key const& key, Choice const& choice) {
    std::lock_guard const lock(mutex_);
    plans_.emplace(key, choice);
  }

 private:
  std::mutex mutex_;
  std::map<Key, Choice> plans_;
};

Plans& plans() {
  static Plans kept;
  return kept;
}

std::optional<Refusal> check_no_capture(tik_linear_args const& args) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (auto bad = device_error("asking whether the stream is captured",
                              cudaStreamIsCapturing(static_cast<cudaStream_t>(args.stream), &capture)))
    return bad;
  if (capture == cudaStreamCaptureStatusNone) return std::nullopt;
  return Refusal{TIK_UNSUPPORTED,
                 validation::sentence("tik_linear has no verified algorithm yet for tokens ", args.tokens, ", in_features ",
                                      args.in_features, ", out_features ", args.out_features,
                                      ", and cannot look for one while a graph is captured: call tik_linear_prepare with "
                                      "the same arguments before the capture.")};
}

// The call as its bucket has it.
Product bucket_product(tik_linear_args const& args) {
  tik_linear_args whole = args;
  whole.tokens = token_bucket(args.tokens);
  whole.x.token_stride = whole.weight.token_stride = args.in_features;
  whole.out_stride = args.out_features;
  return forward_product(whole);
}

std::optional<Refusal> find_forward(tik_linear_args const& args, Choice& choice) {
  Key const key = key_of(bucket_product(args));
  if (auto const known = plans().find(key)) {
    choice = *known;
    return std::nullopt;
  }
  if (auto bad = check_no_capture(args)) return bad;
  if (auto bad = choose_verified(args, choice)) return bad;
  plans().keep(key, choice);
  return std::nullopt;
}

} // namespace

int token_bucket(int tokens) {
  int bucket = 8;
  while (bucket < tokens) {
    if (bucket >= 64 && bucket + bucket / 2 >= tokens) return bucket + bucket / 2;
    bucket *= 2;
  }
  return bucket;
}

std::optional<Refusal> prepare_planned(tik_linear_args const& args) {
  Choice choice;
  return find_forward(args, choice);
}

std::optional<Refusal> describe_planned(tik_linear_args const& args, std::string& text) {
  Choice choice;
  if (auto bad = find_forward(args, choice)) return bad;
  text = describe(choice);
  return std::nullopt;
}

std::optional<Refusal> launch_planned(tik_linear_args const& args) {
  Choice choice;
  if (auto bad = find_forward(args, choice)) return bad;
  return launch_plan(args, choice.plan);
}

std::optional<Refusal> launch_planned_gradient(Product const& product, int tokens, void* stream) {
  if (!vendor_library().problem.empty()) return Refusal{TIK_UNSUPPORTED, vendor_library().problem};
  Product bucket = product;
  (product.b_transposed ? bucket.depth : bucket.columns) = token_bucket(tokens);
  Key const key = key_of(bucket);
  auto choice = plans().find(key);
  if (!choice) {
    Suggestions const suggestions = suggest_algorithms(bucket);
    if (suggestions.count == 0) {
      return Refusal{TIK_UNSUPPORTED, validation::sentence("cuBLASLt offers no algorithm without split-K for a product of ",
                                                           bucket.rows, " x ", bucket.columns, " x ", bucket.depth, ".")};
    }
    choice = Choice{{std::nullopt, suggestions.algorithms[0]}};
    plans().keep(key, *choice);
  }
  return multiply(product, choice->plan.algorithm, static_cast<cudaStream_t>(stream));
}

} // namespace tik::operators::sm90
