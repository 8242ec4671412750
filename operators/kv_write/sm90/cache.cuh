// Where a token lies in the cache, for every kernel that writes there.
#pragma once

#include "operators/kv_write/contract.h"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {

struct CacheParams {
  tik_bf16* keys;
  tik_bf16* values;
  int64_t block_stride; // of a page, or of a contiguous sequence
  int64_t token_stride;
  int64_t head_stride;
  int32_t const* page_table; // NULL: contiguous
  int32_t page_table_stride;
  int32_t page_count;
  Divisor page_size;
  int32_t batch;
  int32_t kv_length;
  bool settled;
  int32_t const* sequences;
  int32_t const* positions;
};

inline CacheParams cache_params(tik_kv_target const& target) {
  tik_kv_view const& kv = target.kv;
  bool const paged = kv.layout == TIK_KV_PAGED;
  return {const_cast<tik_bf16*>(kv.keys),
          const_cast<tik_bf16*>(kv.values),
          paged ? kv.page_stride : kv.sequence_stride,
          kv.token_stride,
          kv.head_stride,
          paged ? kv.page_table : nullptr,
          kv.page_table_stride,
          kv.page_count,
          Divisor(paged ? kv.page_size : 1),
          target.batch,
          target.kv_length,
          target.settled != 0,
          target.sequences,
          target.positions};
}

// Of a token; what decode leaves out follows from the token's number.
__device__ __forceinline__ int sequence_of(CacheParams const& cache, int token) {
  return cache.sequences ? cache.sequences[token] : token;
}

// The first element of a position's rows in the cache; negative where nothing is written.
__device__ __forceinline__ int64_t cache_offset(CacheParams const& cache, int sequence, int position) {
  if (position < 0 || position >= cache.kv_length || sequence < 0 || sequence >= cache.batch) return -1;
  if (!cache.page_table) return sequence * cache.block_stride + position * cache.token_stride;
  int const number = cache.page_size.quotient(position);
  int const page = cache.page_table[int64_t{sequence} * cache.page_table_stride + number];
  if (page < 0 || page >= cache.page_count) return -1;
  return page * cache.block_stride +
         int64_t{position - number * static_cast<int>(cache.page_size.divisor)} * cache.token_stride;
}

// The same of a token.
__device__ __forceinline__ int64_t cache_offset(CacheParams const& cache, int token) {
  return cache_offset(cache, sequence_of(cache, token), cache.positions[token]);
}

} // namespace tik::operators::sm90
