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

// A matrix [rows, columns] of bfloat16 whose rows begin `row_stride` elements apart, read in boxes of `box_rows` rows and
// `box_chunks` chunks of 64 columns, chunk after chunk, swizzled by 128 bytes; what lies outside the matrix is read as zero.
// Coordinates are (column in the chunk, row, chunk). A number of columns that is no multiple of 64 has no boxes of chunks: with
// `boxed` false the coordinates are (column, row, 0). Nothing when the driver refuses.
inline std::optional<CUtensorMap> encode_chunk_map(tik_bf16 const* data, int64_t rows, int64_t columns, int64_t row_stride,
                                                   int box_rows, int box_chunks, bool boxed) {
  auto const encode = tensor_map_encoder();
  if (encode == nullptr) return std::nullopt;
  CUtensorMap map;
  auto const stride = static_cast<cuuint64_t>(rows > 1 ? 2 * row_stride : 2 * columns); // of one row: never used
  cuuint64_t const sizes[3] = {static_cast<cuuint64_t>(boxed ? 64 : columns), static_cast<cuuint64_t>(rows),
                               static_cast<cuuint64_t>(boxed ? columns / 64 : 1)};
  cuuint64_t const strides[2] = {stride, boxed ? 128 : stride};
  cuuint32_t const box[3] = {64, static_cast<cuuint32_t>(box_rows), static_cast<cuuint32_t>(box_chunks)};
  cuuint32_t const element_strides[3] = {1, 1, 1};
  CUresult const result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<tik_bf16*>(data), sizes, strides, box,
                                 element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return std::nullopt;
  return map;
}

} // namespace tik::operators::sm90
