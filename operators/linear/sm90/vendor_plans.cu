// Which algorithm serves which product: found once, then kept for the process.
#include <map>
#include <mutex>
#include <tuple>

#include "operators/linear/sm90/vendor.h"
#include "operators/linear/sm90/vendor_verify.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {
namespace {

// What an algorithm is chosen for: device, rows, columns and depth with the tokens' part as its bucket, then the form.
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
  std::optional<Algorithm> find(Key const& key) {
    std::lock_guard const lock(mutex_);
    auto const found = algorithms_.find(key);
    if (found == algorithms_.end()) return std::nullopt;
    return found->second;
  }
  void keep(Key const& key, Algorithm const& algorithm) {
    std::lock_guard const lock(mutex_);
    algorithms_.emplace(key, algorithm);
  }

 private:
  std::mutex mutex_;
  std::map<Key, Algorithm> algorithms_;
};

Plans& plans() {
  static Plans kept;
  return kept;
}

std::optional<Refusal> check_library() {
  if (vendor_library().problem.empty()) return std::nullopt;
  return Refusal{TIK_UNSUPPORTED, vendor_library().problem};
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

std::optional<Refusal> find_forward(tik_linear_args const& args, Algorithm& algorithm) {
  if (auto bad = check_library()) return bad;
  Product const bucket = bucket_product(args);
  Key const key = key_of(bucket);
  auto known = plans().find(key);
  if (!known) {
    if (auto bad = check_no_capture(args)) return bad;
    Algorithm chosen;
    if (auto bad = choose_verified(args, suggest_algorithms(bucket), chosen)) return bad;
    plans().keep(key, chosen);
    known = chosen;
  }
  algorithm = *known;
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

std::optional<Refusal> prepare_vendor(tik_linear_args const& args) {
  Algorithm algorithm;
  return find_forward(args, algorithm);
}

std::optional<Refusal> launch_vendor(tik_linear_args const& args) {
  Algorithm algorithm;
  if (auto bad = find_forward(args, algorithm)) return bad;
  return multiply(forward_product(args), algorithm, static_cast<cudaStream_t>(args.stream));
}

std::optional<Refusal> launch_vendor_gradient(Product const& product, int tokens, void* stream) {
  if (auto bad = check_library()) return bad;
  Product bucket = product;
  (product.b_transposed ? bucket.depth : bucket.columns) = token_bucket(tokens);
  Key const key = key_of(bucket);
  auto algorithm = plans().find(key);
  if (!algorithm) {
    Suggestions const suggestions = suggest_algorithms(bucket);
    if (suggestions.count == 0) {
      return Refusal{TIK_UNSUPPORTED, validation::sentence("cuBLASLt offers no algorithm without split-K for a product of ",
                                                           bucket.rows, " x ", bucket.columns, " x ", bucket.depth, ".")};
    }
    algorithm = suggestions.algorithms[0];
    plans().keep(key, *algorithm);
  }
  return multiply(product, *algorithm, static_cast<cudaStream_t>(stream));
}

} // namespace tik::operators::sm90
