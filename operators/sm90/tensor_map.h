// Descriptions of matrices for the copy engine (TMA).
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include "operators/abi.h"

namespace tik::operators::sm90 {

// The driver's function, found at run time so that nothing links the driver; NULL when the driver lacks it.
inline PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder() {
  static auto const found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaError_t const error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result);
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) function = nullptr;
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  return found;
}

// A matrix [rows, columns] of bfloat16 whose rows begin `row_stride` elements apart, read in boxes of `box_rows` rows and 64
// columns, swizzled by 128 bytes; what lies outside the matrix is read as zero. Nothing when the driver refuses.
inline std::optional<CUtensorMap> encode_matrix_map(tik_bf16 const* data, int64_t rows, int64_t columns, int64_t row_stride,
                                                    int box_rows) {
  auto const encode = tensor_map_encoder();
  if (encode == nullptr) return std::nullopt;
  CUtensorMap map;
  cuuint64_t const sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  cuuint64_t const strides[1] = {static_cast<cuuint64_t>(rows > 1 ? 2 * row_stride : 2 * columns)}; // of one row: never used
  cuuint32_t const box[2] = {64, static_cast<cuuint32_t>(box_rows)};
  cuuint32_t const element_strides[2] = {1, 1};
  CUresult const result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<tik_bf16*>(data), sizes, strides, box,
                                 element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return std::nullopt;
  return map;
}

} // namespace tik::operators::sm90
