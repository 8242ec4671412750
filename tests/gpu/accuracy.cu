// out and lse against a float64 evaluation of the definition in contract.h, which knows nothing of numerics.cuh.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

constexpr int threads = 128;
constexpr int longest = 3000;

struct Exact {
  std::vector<double> out;       // [tokens, heads, head_dim]
  std::vector<double> magnitude; // the same with |v|: what an error is measured by
  std::vector<double> lse;       // [tokens, heads]
};

__device__ double as_double(tik_bf16 bits) { return __uint_as_float(static_cast<uint32_t>(bits) << 16); }

template <typename Combine>
__device__ double reduce(double value, double* shared, Combine combine) {
  __syncthreads();
  shared[threadIdx.x] = value;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  __syncthreads();
  return shared[0];
}

// A block computes one query token and head. q, k, v: [tokens, heads, head_dim] without gaps.
__global__ void exact_kernel(tik_attention_shape shape, tik_bf16 const* q, tik_bf16 const* k, tik_bf16 const* v, double* out,
                             double* magnitude, double* lse) {
  __shared__ double scores[longest];
  __shared__ double shared[threads];
  int const position = blockIdx.x;
  int const head = blockIdx.y;
  int const kv_head = head / (shape.query_heads / shape.kv_heads);
  int64_t const row = int64_t{position} * shape.query_heads + head;
  double largest = -INFINITY;
  for (int key = threadIdx.x; key <= position; key += threads) {
    double dot = 0;
    for (int column = 0; column < shape.head_dim; ++column) {
      dot += as_double(q[row * shape.head_dim + column]) *
             as_double(k[(int64_t{key} * shape.kv_heads + kv_head) * shape.head_dim + column]);
    }
    scores[key] = dot * shape.softmax_scale;
    largest = fmax(largest, scores[key]);
  }
  largest = reduce(largest, shared, [](double a, double b) { return fmax(a, b); });
  double sum = 0;
  for (int key = threadIdx.x; key <= position; key += threads) sum += scores[key] = exp(scores[key] - largest);
  sum = reduce(sum, shared, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) lse[row] = largest + log(sum);
  for (int column = threadIdx.x; column < shape.head_dim; column += threads) {
    double total = 0;
    double absolute = 0;
    for (int key = 0; key <= position; ++key) {
      double const value = as_double(v[(int64_t{key} * shape.kv_heads + kv_head) * shape.head_dim + column]);
      total += scores[key] * value;
      absolute += scores[key] * fabs(value);
    }
    out[row * shape.head_dim + column] = total / sum;
    magnitude[row * shape.head_dim + column] = absolute / sum;
  }
}

Exact compute_exact(tik_attention_shape const& shape, Source source, int length) {
  auto const written = [&](Tensor tensor, int heads) {
    Buffer<tik_bf16> buffer(int64_t{length} * heads * shape.head_dim);
    std::vector<int64_t> offsets(length);
    for (int token = 0; token < length; ++token) offsets[token] = int64_t{token} * heads * shape.head_dim;
    Buffer<int64_t> const token_offsets(offsets);
    write_tokens(source, tensor, {buffer.data(), token_offsets.data(), shape.head_dim, heads, shape.head_dim}, 0, length);
    require(cudaDeviceSynchronize(), "writing a sequence");
    return buffer;
  };
  Buffer<tik_bf16> const q = written(Tensor::query, shape.query_heads);
  Buffer<tik_bf16> const k = written(Tensor::key, shape.kv_heads);
  Buffer<tik_bf16> const v = written(Tensor::value, shape.kv_heads);
  Buffer<double> const out(q.count()), magnitude(q.count()), lse(int64_t{length} * shape.query_heads);
  exact_kernel<<<dim3(length, shape.query_heads), threads>>>(shape, q.data(), k.data(), v.data(), out.data(), magnitude.data(),
                                                             lse.data());
  require(cudaGetLastError(), "computing in float64");
  return {out.download(), magnitude.download(), lse.download()};
}

double as_number(uint16_t bits) {
  uint32_t const wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// Weights and outputs are rounded to bfloat16, each by at most 2^-8 of the magnitude; the rest of the arithmetic is fp32 and
// gets a sixteenth of that. Over many elements the two roundings come to less than 0.002 (0.00155 where one key counts alone,
// measured on an H200). Results near the smallest bfloat16 are off by at most one step of 2^-133.
constexpr double out_tolerance = 0x1p-7 * (1 + 0x1p-4);
constexpr double rms_tolerance = 2e-3;
constexpr double smallest_step = 0x1p-133;
constexpr double lse_tolerance = 1e-5;

void check_sequence(Suite& suite, tik_attention_shape const& shape, Source source, int length) {
  std::string const label = describe(shape) + " " + name(source.distribution) + " length " + std::to_string(length);
  Rows const rows = run_full(suite, shape, {{source, 0, length}}, label)[0];
  Exact const exact = compute_exact(shape, source, length);
  double worst = 0;
  double squares = 0;
  bool finite = true;
  for (std::size_t i = 0; i < rows.out.size(); ++i) {
    double const error = std::abs(as_number(rows.out[i]) - exact.out[i]);
    finite &= std::isfinite(error);
    double const relative = std::max(error - smallest_step, 0.0) / std::max(exact.magnitude[i], 0x1p-1000);
    worst = std::max(worst, relative);
    squares += relative * relative;
  }
  double worst_lse = 0;
  for (std::size_t i = 0; i < rows.lse.size(); ++i) {
    float value;
    std::memcpy(&value, &rows.lse[i], sizeof(value));
    double const error = std::abs(value - exact.lse[i]) / (1 + std::abs(exact.lse[i]));
    finite &= std::isfinite(error);
    worst_lse = std::max(worst_lse, error);
  }
  double const rms = std::sqrt(squares / rows.out.size());
  char text[240];
  std::snprintf(text, sizeof(text),
                "%s: out worst %.2e (at most %.2e) rms %.2e (at most %.0e), lse worst %.1e (at most %.0e)%s", label.c_str(),
                worst, out_tolerance, rms, rms_tolerance, worst_lse, lse_tolerance, finite ? "" : ", not finite");
  std::printf("accuracy %s\n", text);
  suite.report.record("accuracy", finite && worst <= out_tolerance && rms <= rms_tolerance && worst_lse <= lse_tolerance, label,
                      text);
}

} // namespace

void check_accuracy(Suite& suite) {
  Random random(suite.seed + 10);
  if (suite.tiny) return check_sequence(suite, make_shape(4, 2, 64), {random.next()}, 40);
  for (Distribution const distribution : all_distributions) {
    if (distribution == Distribution::remote) continue;
    for (int const head_dim : head_dims) {
      check_sequence(suite, make_shape(8, 2, head_dim), {random.next(), distribution}, random.between(150, 400));
      check_sequence(suite, make_shape(5, 1, head_dim), {random.next(), distribution}, random.between(1030, 1300));
      if (suite.quick) continue;
      check_sequence(suite, make_shape(7, 1, head_dim), {random.next(), distribution}, random.between(2050, longest));
      check_sequence(suite, make_shape(16, 1, head_dim), {random.next(), distribution}, random.between(1, 140));
    }
  }
}

} // namespace tik::gpu_suite
