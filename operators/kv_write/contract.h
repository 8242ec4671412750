/* Writing keys and values of new tokens into the cache that attention reads: contiguous or paged.
 *
 * The token t of a call is the token at positions[t] of sequence sequences[t]; its rows are copied bit by bit to that place of
 * the cache, and nothing else of the cache changes. Two tokens of a call have different places. Pointers are device memory for
 * a CUDA backend and host memory for the CPU backend. No call allocates or synchronises, so a captured graph may be replayed
 * with other positions and page tables.
 */
#ifndef TIK_KV_WRITE_CONTRACT_H
#define TIK_KV_WRITE_CONTRACT_H

#include "operators/attention/contract.h"
#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the tokens of a call go. */
typedef struct tik_kv_target {
  tik_kv_view kv;    /* the cache as attention reads it, TIK_KV_CONTIGUOUS or TIK_KV_PAGED; its keys and values are written */
  int32_t batch;     /* sequences of the cache, at least 1 */
  int32_t kv_length; /* tokens a sequence has room for: positions are below it */
  /* 1: what wrote sequences, positions and page table (and the table of a rotation) has ended when this call, or the graph that
   * holds it, is launched, as where all layers of a step share them: a backend may read them before the work that the stream
   * does before this call has ended. 0 is always right. */
  int32_t settled;
  const int32_t* sequences; /* [tokens]; NULL: token t belongs to sequence t, as in decode */
  /* [tokens]. Negative: the token is padding and is not written. A position at or after kv_length, a sequence outside of [0,
   * batch) or a page outside of [0, page_count): refused by the CPU backend; a CUDA backend does not write the token. */
  const int32_t* positions;
} tik_kv_target;

typedef struct tik_kv_write_args {
  uint32_t struct_bytes; /* sizeof(tik_kv_write_args): tells versions apart */
  int32_t tokens;        /* at least 1 */
  int32_t kv_heads;      /* at least 1 */
  int32_t head_dim;      /* 64 or 128 */
  tik_rows keys;
  tik_rows values;
  tik_kv_target target;
  void* stream; /* a cudaStream_t; NULL on the CPU backend */
} tik_kv_write_args;

tik_status tik_kv_write(const tik_kv_write_args* args);

#ifdef __cplusplus
}
#endif
#endif
