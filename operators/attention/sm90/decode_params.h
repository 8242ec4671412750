// What the decode kernel is given: the call's arguments with everything computed that does not depend on device memory.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace tik::attention::sm90 {

// Sequences that a block alone can walk over: their lengths lie in shared memory.
inline constexpr int largest_walked_batch = 512;

struct DecodeParams {
  __nv_bfloat16 const* queries;
  int64_t query_token_stride;
  int64_t query_head_stride;
  int32_t const* query_offsets; // NULL: one query token a sequence

  // Token t of sequence b: contiguous b * sequence_stride + t * token_stride; paged
  // page_table[b, t / page_size] * page_stride + (t % page_size) * token_stride.
  uint8_t const* keys;
  uint8_t const* values;
  int64_t sequence_stride; // 0 when paged
  int64_t page_stride_16;  // page_stride in units of 16 bytes
  int32_t token_bytes;     // token_stride in bytes
  int64_t head_stride;
  int32_t const* page_table; // NULL when contiguous
  int32_t page_table_stride;
  int32_t page_size;
  int32_t pages_a_part;         // 1024 / page_size when that is exact, else 0
  int32_t page_of_groups;       // page_size is a multiple of 16, so that groups of 16 keys lie within pages
  int32_t largest_pages_a_part; // entries of the page table a part may need
  uint32_t page_reciprocal;     // ceil(2^20 / page_size): exact for the tokens of one part; 0 when contiguous
  int32_t const* kv_lengths;

  __nv_bfloat16* out;
  int64_t out_token_stride;
  int64_t out_head_stride;
  float* lse; // [query_tokens, query_heads] or NULL

  // Workspace, used by sequences of more than one part. Items are numbered ((b * kv_heads + h) * row_blocks + block).
  float* partial_output; // [items, parts, block_rows, head_dim]
  float2* partial_state; // [items, parts, 8 ranks, block_rows]: running maximum and sum
  uint32_t* arrivals;    // [items, 8 ranks], zero between calls

  int32_t batch;
  int32_t kv_heads;
  int32_t ratio;      // query heads a KV head serves
  int32_t row_blocks; // blocks of rows a KV head's query rows are cut into
  int32_t parts;      // parts of the longest sequence within the limits
  float scale_log2;
};

} // namespace tik::attention::sm90
