// Products by cuBLASLt, without split-K: its other algorithms sum k as the canonical chain does, and a forward product is
// compared with the chain before it is used (choose.h).
#pragma once

#include <cuda_runtime.h>

#include <optional>

#include "operators/linear/contract.h"
#include "operators/linear/sm90/vendor_library.h"
#include "operators/validation.h"

namespace tik::operators::sm90 {

// One product in the library's terms, where matrices are stored by columns: out [rows, columns] = a [rows, depth] times
// b [depth, columns], a or b given as its transpose. `gap_*` is the distance of stored columns.
struct Product {
  int rows, columns, depth;
  bool a_transposed, b_transposed;
  void const* a;
  int64_t a_gap;
  void const* b;
  int64_t b_gap;
  void* out;
  int64_t out_gap;
  bool fp32_out;
  bool onto;                // adds to what out holds
  tik_bf16 const* row_bias; // [rows], or NULL
  void* workspace;          // TIK_LINEAR_WORKSPACE_BYTES, or NULL
};
Product forward_product(tik_linear_args const& args);
Product x_gradient_product(tik_linear_backward_args const& args);
Product weight_gradient_product(tik_linear_backward_args const& args);

using Algorithm = cublasLtMatmulAlgo_t;

// The algorithms without split-K that the library suggests: its best without a workspace, then its best with the small one.
// (Asked for those with a large one, it suggests split-K alone for few tokens, and slow algorithms when that is excluded.)
inline constexpr int suggestions_a_query = 8;
struct Suggestions {
  Algorithm algorithms[2 * suggestions_a_query];
  int count = 0;
};
Suggestions suggest_algorithms(Product const& product);

// Nothing on success, else a sentence with the library's status.
std::optional<Refusal> multiply(Product const& product, Algorithm const& algorithm, cudaStream_t stream);

} // namespace tik::operators::sm90
