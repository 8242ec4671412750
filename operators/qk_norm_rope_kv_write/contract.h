/* What a decode step does between the projections and attention, in one call: QK-norm, RoPE, and the write of keys and values
 * into the cache. The bits are those of tik_rms_norm on the queries' and keys' heads, then tik_rotary, then tik_kv_write.
 */
#ifndef TIK_QK_NORM_ROPE_KV_WRITE_CONTRACT_H
#define TIK_QK_NORM_ROPE_KV_WRITE_CONTRACT_H

#include "operators/kv_write/contract.h"
#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tik_qk_norm_rope_kv_write_args {
  uint32_t struct_bytes; /* sizeof(tik_qk_norm_rope_kv_write_args): tells versions apart */
  int32_t tokens;        /* at least 1 */
  int32_t query_heads;   /* at least 1 */
  int32_t kv_heads;      /* at least 1 */
  int32_t head_dim;      /* 64 or 128 */
  float epsilon;         /* finite, > 0 where there is a norm */
  tik_rows queries;
  tik_rows keys;
  tik_rows values;
  const tik_bf16* query_weight; /* [head_dim], 16-byte aligned; both NULL: no QK-norm, as in Qwen2.5 */
  const tik_bf16* key_weight;
  int32_t table_positions;
  const float* table;           /* [table_positions, head_dim] of tik_rotary_table, 16-byte aligned */
  tik_mutable_rows queries_out; /* may be queries itself */
  /* Its positions are those of the rotation, too: a token at or after table_positions gets NaN from a CUDA backend, and is
   * refused by the CPU backend. Of padding the queries are not written either. */
  tik_kv_target target;
  void* stream; /* a cudaStream_t; NULL on the CPU backend */
} tik_qk_norm_rope_kv_write_args;

tik_status tik_qk_norm_rope_kv_write(const tik_qk_norm_rope_kv_write_args* args);

#ifdef __cplusplus
}
#endif
#endif
