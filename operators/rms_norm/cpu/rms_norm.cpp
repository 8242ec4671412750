// RMSNorm on CPUs: one row after another.
#include <algorithm>

#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/rms_norm/cpu/norm.h"
#include "operators/rms_norm/validate.h"

namespace tik::operators::cpu {
namespace {

using namespace rms_norm;

void forward_row(tik_rms_norm_args const& args, Norm const& norm, int64_t token, int64_t head) {
  tik_bf16 const* x = row(args.x, token, head);
  if (args.residual.data != nullptr) {
    tik_bf16 const* const residual = row(args.residual, token, head);
    tik_bf16* const sum = row(args.sum, token, head);
    for (int c = 0; c < norm.columns; ++c) sum[c] = to_bf16(add(to_float(x[c]), to_float(residual[c])));
    x = sum;
  }
  norm.normalize(x, args.weight, row(args.out, token, head));
}

// One row of x_gradient; adds the row to its block of the weight's gradient where one is given.
void backward_row(tik_rms_norm_backward_args const& args, Norm const& norm, int64_t token, int64_t head, float* block) {
  tik_bf16 const* const x = row(args.x, token, head);
  tik_bf16 const* const out_gradient = row(args.out_gradient, token, head);
  auto const g = [&](int c) { return weighted(to_float(out_gradient[c]), to_float(args.weight[c])); };
  float const r = norm.inverse_rms(x);
  float const products = row_sum(norm.columns, [&](int chunk) {
    float sum = 0;
    for (int c = chunk * chunk_columns; c < (chunk + 1) * chunk_columns; ++c) {
      sum = accumulate_product(g(c), to_float(x[c]), sum);
    }
    return sum;
  });
  float const m = mean_product(products, r, norm.inverse_columns);
  tik_bf16 const* const sum_gradient = args.sum_gradient.data ? row(args.sum_gradient, token, head) : nullptr;
  tik_bf16* const x_gradient = row(args.x_gradient, token, head);
  for (int c = 0; c < norm.columns; ++c) {
    float const h = normalized(to_float(x[c]), r);
    if (block) block[c] = accumulate_weight(to_float(out_gradient[c]), h, block[c]);
    float const t = centered(g(c), h, m);
    x_gradient[c] = to_bf16(sum_gradient ? rms_norm::x_gradient(t, r, to_float(sum_gradient[c])) : rms_norm::x_gradient(t, r));
  }
}

} // namespace

tik_status rms_norm(tik_rms_norm_args const* args) {
  if (auto bad = validate(args)) return Error::keep(std::move(bad));
  Norm const norm(args->columns, args->epsilon);
  for (int64_t token = 0; token < args->tokens; ++token) {
    for (int64_t head = 0; head < args->heads; ++head) forward_row(*args, norm, token, head);
  }
  return TIK_OK;
}

tik_status rms_norm_backward(tik_rms_norm_backward_args const* args) {
  if (auto bad = validate(args)) return Error::keep(std::move(bad));
  int const columns = args->columns;
  Norm const norm(columns, args->epsilon);
  int64_t const rows = int64_t{args->tokens} * args->heads;
  float* const gradient = args->weight_gradient;
  auto* const block =
      gradient ? static_cast<float*>(args->workspace) : nullptr; // the first block's and span's place serves all
  float* const span = gradient ? block + weight_blocks(rows) * columns : nullptr;
  for (int64_t first = 0; first < rows; first += block_rows) {
    if (block) std::fill_n(block, columns, 0.0f);
    int64_t const end = std::min(first + block_rows, rows);
    for (int64_t r = first; r < end; ++r) backward_row(*args, norm, r / args->heads, r % args->heads, block);
    if (!gradient) continue;
    bool const opens_span = first / block_rows % span_blocks == 0;
    bool const closes_span = end == rows || (first / block_rows + 1) % span_blocks == 0;
    for (int c = 0; c < columns; ++c) {
      span[c] = opens_span ? block[c] : add(span[c], block[c]);
      if (closes_span) gradient[c] = add(gradient[c], span[c]);
    }
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
