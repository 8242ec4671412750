#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>

#include "operators/linear/sm90/vendor.h"

namespace tik::operators::sm90 {
namespace {

// Owns what the library creates.
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

Owned<cublasLtMatrixLayout_t> make_layout(cudaDataType type, int64_t rows, int64_t columns, int64_t gap) {
  cublasLtMatrixLayout_t layout = nullptr;
  vendor_library().create_layout(&layout, type, rows, columns, gap);
  return {layout, vendor_library().destroy_layout};
}

struct Descriptions {
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a, b, out;
};

Owned<cublasLtMatmulDesc_t> make_operation(Product const& product) {
  VendorLibrary const& library = vendor_library();
  cublasLtMatmulDesc_t operation = nullptr;
  library.create_operation(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasOperation_t const transposed = CUBLAS_OP_T;
  if (product.a_transposed) library.set_operation(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  if (product.b_transposed) library.set_operation(operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed, sizeof transposed);
  if (product.row_bias) {
    cublasLtEpilogue_t const epilogue = CUBLASLT_EPILOGUE_BIAS;
    cudaDataType const type = CUDA_R_16BF;
    library.set_operation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    library.set_operation(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &product.row_bias, sizeof product.row_bias);
    library.set_operation(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
  }
  return {operation, library.destroy_operation};
}

Descriptions describe(Product const& product) {
  auto const rows_of = [](bool transposed, int rows, int columns) { return transposed ? columns : rows; };
  int const a_rows = rows_of(product.a_transposed, product.rows, product.depth);
  int const b_rows = rows_of(product.b_transposed, product.depth, product.columns);
  return {make_operation(product), make_layout(CUDA_R_16BF, a_rows, product.rows + product.depth - a_rows, product.a_gap),
          make_layout(CUDA_R_16BF, b_rows, product.depth + product.columns - b_rows, product.b_gap),
          make_layout(product.fp32_out ? CUDA_R_32F : CUDA_R_16BF, product.rows, product.columns, product.out_gap)};
}

// One handle a device, for all threads.
cublasLtHandle_t handle() {
  constexpr int most_devices = 64;
  static std::array<std::once_flag, most_devices> created;
  static std::array<cublasLtHandle_t, most_devices> handles{};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= most_devices) return nullptr;
  std::call_once(created[device], [&] { vendor_library().create(&handles[device]); });
  return handles[device];
}

// Adds what the library suggests within `workspace` bytes.
void suggest(Product const& product, std::size_t workspace, Suggestions& found) {
  VendorLibrary const& library = vendor_library();
  cublasLtMatmulPreference_t created = nullptr;
  library.create_preference(&created);
  Owned<cublasLtMatmulPreference_t> const preference(created, library.destroy_preference);
  uint32_t const no_reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  uint32_t const alignment = 16;
  library.set_preference(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  library.set_preference(created, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &no_reduction, sizeof no_reduction);
  for (auto const attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    library.set_preference(created, attribute, &alignment, sizeof alignment);
  }
  Descriptions const described = describe(product);
  cublasLtMatmulHeuristicResult_t results[suggestions_a_query];
  int count = 0;
  cublasStatus_t const status =
      library.find_algorithms(handle(), described.operation.get(), described.a.get(), described.b.get(), described.out.get(),
                              described.out.get(), created, suggestions_a_query, results, &count);
  if (status != CUBLAS_STATUS_SUCCESS) return;
  for (int i = 0; i < count; ++i) {
    bool const known = std::any_of(found.algorithms, found.algorithms + found.count, [&](Algorithm const& algorithm) {
      return std::memcmp(&algorithm, &results[i].algo, sizeof algorithm) == 0;
    });
    if (!known) found.algorithms[found.count++] = results[i].algo;
  }
}

} // namespace

Product forward_product(tik_linear_args const& args) {
  return {args.out_features,
          args.tokens,
          args.in_features,
          true,
          false,
          args.weight.data,
          args.weight.token_stride,
          args.x.data,
          args.x.token_stride,
          args.out,
          args.out_stride,
          args.out_type == TIK_FP32,
          false,
          args.bias,
          args.workspace};
}

Product x_gradient_product(tik_linear_backward_args const& args) {
  return {args.in_features,
          args.tokens,
          args.out_features,
          false,
          false,
          args.weight.data,
          args.weight.token_stride,
          args.out_gradient.data,
          args.out_gradient.token_stride,
          args.x_gradient.data,
          args.x_gradient.token_stride,
          false,
          false,
          nullptr,
          args.workspace};
}

Product weight_gradient_product(tik_linear_backward_args const& args) {
  return {args.in_features,
          args.out_features,
          args.tokens,
          false,
          true,
          args.x.data,
          args.x.token_stride,
          args.out_gradient.data,
          args.out_gradient.token_stride,
          args.weight_gradient,
          args.in_features,
          true,
          true,
          nullptr,
          args.workspace};
}

Suggestions suggest_algorithms(Product const& product) {
  Suggestions found;
  suggest(product, 0, found);
  if (product.workspace) suggest(product, TIK_LINEAR_WORKSPACE_BYTES, found);
  return found;
}

std::optional<Refusal> multiply(Product const& product, Algorithm const& algorithm, cudaStream_t stream) {
  VendorLibrary const& library = vendor_library();
  Descriptions const described = describe(product);
  float const one = 1;
  float const onto = product.onto ? 1 : 0;
  cublasStatus_t const status =
      library.multiply(handle(), described.operation.get(), &one, product.a, described.a.get(), product.b, described.b.get(),
                       &onto, product.out, described.out.get(), product.out, described.out.get(), &algorithm, product.workspace,
                       product.workspace ? TIK_LINEAR_WORKSPACE_BYTES : 0, stream);
  if (status == CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return Refusal{TIK_DEVICE_ERROR, validation::sentence("cuBLASLt failed a product of ", product.rows, " x ", product.columns,
                                                        " x ", product.depth, ": ", library.status_name(status), ".")};
}

} // namespace tik::operators::sm90
