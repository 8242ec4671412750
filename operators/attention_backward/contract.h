/* The gradients of unified attention over packed sequences, for the policy update: backward of tik_attention_full.
 *
 * For a loss whose gradient with respect to the output of attention is g (out_gradient), query i and query head h, which reads
 * key/value head c = h / (query_heads / kv_heads), with p[i, j] = exp(softmax_scale * <q[i], k[j]> - lse[i]) for keys j <= i:
 *   d[i, j]             = p[i, j] * (<g[i], v[j]> - <g[i], out[i]>)
 *   query_gradient[i,h] = softmax_scale * sum over j of d[i, j] * k[j, c]
 *   key_gradient[j,c]   = softmax_scale * sum over the heads h of c, over i, of d[i, j] * q[i, h]
 *   value_gradient[j,c] = sum over the heads h of c, over i, of p[i, j] * g[i, h]
 *
 * The gradients of a sequence have the same bits whatever else is in the call and wherever its rows lie, and when the call is
 * repeated; those of a query depend on the keys up to it alone (docs/numerics.md). Nothing is added by atomic operations.
 *
 * Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call allocates or synchronises; lengths
 * are read where they lie, so a captured CUDA graph may be replayed with other offsets within `tokens` and `longest`.
 */
#ifndef TIK_ATTENTION_BACKWARD_CONTRACT_H
#define TIK_ATTENTION_BACKWARD_CONTRACT_H

#include "operators/attention/contract.h"
#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tik_attention_full_backward_args {
  uint32_t struct_bytes;     /* sizeof(tik_attention_full_backward_args): tells versions apart */
  int32_t batch;             /* sequences, 1 to 65535 */
  int32_t tokens;            /* rows of every tensor, at least query_offsets[batch], at most 2^24 */
  int32_t longest;           /* no sequence has more tokens; grids follow from it */
  tik_attention_shape shape; /* that of the forward call */
  /* [batch + 1]: first row of each sequence, and the end of the last. Rows at or after query_offsets[batch] are padding: not
   * read, not written. */
  const int32_t* query_offsets;

  tik_rows queries;                /* [tokens, query_heads, head_dim] */
  tik_rows keys;                   /* [tokens, kv_heads, head_dim] */
  tik_rows values;                 /* [tokens, kv_heads, head_dim] */
  tik_rows out;                    /* [tokens, query_heads, head_dim]: what tik_attention_full wrote */
  const float* lse;                /* [tokens, query_heads]: what tik_attention_full wrote */
  tik_rows out_gradient;           /* [tokens, query_heads, head_dim] */
  tik_mutable_rows query_gradient; /* [tokens, query_heads, head_dim]; shares no memory with another tensor */
  tik_mutable_rows key_gradient;   /* [tokens, kv_heads, head_dim]; the same */
  tik_mutable_rows value_gradient; /* [tokens, kv_heads, head_dim]; the same */

  /* tik_attention_full_backward_workspace_bytes(...) bytes, 256-byte aligned, of any content; calls that may run at the same
   * time need workspaces of their own. */
  void* workspace;
  size_t workspace_bytes;
  void* stream; /* a cudaStream_t; NULL on the CPU backend */
} tik_attention_full_backward_args;

/* Bytes of workspace of a call with so many tokens and query heads. */
int64_t tik_attention_full_backward_workspace_bytes(int32_t tokens, int32_t query_heads);

tik_status tik_attention_full_backward(const tik_attention_full_backward_args* args);

#ifdef __cplusplus
}
#endif
#endif
