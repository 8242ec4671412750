/* The contract of unified causal attention: the one C ABI that every backend implements and every caller uses.
 *
 * Three entry points compute the same function on the same canonical arithmetic (docs/numerics.md):
 *   full    policy update and rollout prefill: packed sequences, queries and keys of the same tokens
 *   extend  a chunk of query tokens at the end of a cached sequence: chunked prefill, speculative decoding
 *   decode  one query token a sequence, against the cache
 * For the same query vector and the same causal prefix of keys and values they return the same bits, whatever the batch,
 * the padding, the page mapping, or the place where a prompt was cut.
 *
 * For the query token at position p of its sequence and query head h, which reads key/value head h / (query_heads / kv_heads):
 *   out[h, :] = sum over j <= p of softmax_j(softmax_scale * <q[h, :], k[j, :]>) * v[j, :]
 *   lse[h]    = ln(sum over j <= p of exp(softmax_scale * <q[h, :], k[j, :]>))
 *
 * Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call allocates, synchronises or
 * reads a length on the host: the work follows from the lengths in memory, so a captured CUDA graph may be replayed with
 * other lengths, offsets and page tables, within the limits it was captured for.
 */
#ifndef TIK_ATTENTION_CONTRACT_H
#define TIK_ATTENTION_CONTRACT_H

#include <stddef.h>
#include <stdint.h>

#include "operators/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this contract. A library returns the version it was built for from tik_attention_abi_version(). */
#define TIK_ATTENTION_ABI_VERSION 1

typedef struct tik_attention_shape {
  int32_t query_heads; /* a multiple of kv_heads, at most 16 times as many */
  int32_t kv_heads;
  int32_t head_dim;    /* 64 or 128 */
  float softmax_scale; /* finite, > 0; usually 1 / sqrt(head_dim) */
} tik_attention_shape;

/* What a workspace must suffice for. Its size depends on these and on the shape alone. */
typedef struct tik_attention_limits {
  int32_t batch;        /* largest number of sequences in a call */
  int32_t query_tokens; /* largest number of query tokens in a call, over all sequences */
  int32_t query_length; /* largest number of query tokens of one sequence; 1 for decode */
  int32_t kv_length;    /* largest number of keys of one sequence */
} tik_attention_limits;

typedef enum tik_kv_layout {
  TIK_KV_PACKED = 0,     /* token t of sequence b is row query_offsets[b] + t; full only */
  TIK_KV_CONTIGUOUS = 1, /* token t of sequence b: b * sequence_stride + t * token_stride */
  TIK_KV_PAGED = 2 /* token t of sequence b: page_table[b, t / page_size] * page_stride + (t % page_size) * token_stride */
} tik_kv_layout;

/* Where keys and values lie. head_dim is contiguous; all strides count elements, are multiples of 8 and equal for both. */
typedef struct tik_kv_view {
  int32_t layout;          /* a tik_kv_layout */
  int32_t page_size;       /* tokens a page, 1 to 256; paged only */
  const tik_bf16* keys;    /* 16-byte aligned */
  const tik_bf16* values;  /* 16-byte aligned */
  int64_t sequence_stride; /* contiguous only */
  int64_t page_stride;     /* paged only */
  int64_t token_stride;
  int64_t head_stride;
  const int32_t* page_table; /* [batch, page_table_stride]; paged only. Entries past a sequence's last page are not used. */
  int32_t page_table_stride; /* entries a sequence: at least ceil(limits.kv_length / page_size) */
  int32_t page_count;        /* pages in the pool: every entry used is in [0, page_count) */
} tik_kv_view;

typedef struct tik_attention_args {
  uint32_t struct_bytes; /* sizeof(tik_attention_args): tells versions apart */
  int32_t batch;         /* sequences in this call, at least 1, at most limits.batch */
  tik_attention_shape shape;
  tik_attention_limits limits; /* what the workspace was sized for; grids follow from these, never from lengths */

  const tik_bf16* queries;    /* [query_tokens, query_heads, head_dim] with the strides below; 16-byte aligned */
  int64_t query_token_stride; /* elements, a multiple of 8 */
  int64_t query_head_stride;  /* elements, a multiple of 8 */
  /* [batch + 1]: first row of each sequence among the packed query rows, and the end of the last. full and extend; NULL for
   * decode, where row b belongs to sequence b. Rows at or after query_offsets[batch] are padding: not read, not written. */
  const int32_t* query_offsets;

  tik_kv_view kv;
  /* [batch]: keys of each sequence, its query tokens included (their keys and values are in the cache already). extend and
   * decode; NULL for full, where it follows from query_offsets. The last query token has position kv_lengths[b] - 1.
   * A sequence of length 0 pads a captured batch: its decode row is written as zeros with lse -infinity. */
  const int32_t* kv_lengths;

  tik_bf16* out;            /* [query_tokens, query_heads, head_dim] with the strides below; 16-byte aligned */
  int64_t out_token_stride; /* elements, a multiple of 8 */
  int64_t out_head_stride;  /* elements, a multiple of 8 */
  float* lse;               /* [query_tokens, query_heads], natural logarithm, fp32; NULL when not wanted */

  /* tik_attention_workspace_bytes(...) bytes, 256-byte aligned, zeroed once before its first use; every call leaves it ready
   * for the next. Calls that may run at the same time need workspaces of their own. NULL when the size is 0. */
  void* workspace;
  size_t workspace_bytes;
  void* stream; /* a cudaStream_t; NULL on the CPU backend */
} tik_attention_args;

/* The contract version this library implements. */
int32_t tik_attention_abi_version(void);

/* Bytes of workspace for any call within these limits; 0 when none is needed. Negative when shape or limits are refused. */
int64_t tik_attention_workspace_bytes(const tik_attention_shape* shape, const tik_attention_limits* limits);

/* Packed sequences, queries against the keys of the same tokens: query i of a sequence sees its keys 0..i. */
tik_status tik_attention_full(const tik_attention_args* args);

/* A chunk of query tokens at the end of each cached sequence. */
tik_status tik_attention_extend(const tik_attention_args* args);

/* One query token a sequence, at the end of each cached sequence. */
tik_status tik_attention_decode(const tik_attention_args* args);

/* The sentence that belongs to the last status other than TIK_OK on this thread: what was wrong, where, what to do. */
const char* tik_attention_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
