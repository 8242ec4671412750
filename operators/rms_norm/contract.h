/* RMSNorm over the columns of each row, with or without the addition of a residual before it; QK-norm is the same with the
 * heads of a token as rows.
 *
 *   sum[t, h, :] = x[t, h, :] + residual[t, h, :]                              (with a residual; else sum is x)
 *   out[t, h, c] = sum[t, h, c] / sqrt(mean over c of sum[t, h, c]^2 + epsilon) * weight[c]
 *
 * A row's bits depend on the row, the weight and epsilon alone, and are the same on every backend (docs/numerics.md).
 * Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call allocates or synchronises.
 */
#ifndef TIK_RMS_NORM_CONTRACT_H
#define TIK_RMS_NORM_CONTRACT_H

#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tik_rms_norm_args {
  uint32_t struct_bytes; /* sizeof(tik_rms_norm_args): tells versions apart */
  int32_t tokens;        /* at least 1 */
  int32_t heads;         /* rows of a token: 1 for a hidden state, the heads for QK-norm */
  int32_t columns;       /* of a row: a multiple of 8, at most 8192 */
  float epsilon;         /* finite, > 0 */
  tik_rows x;
  tik_rows residual;      /* data NULL: nothing is added */
  const tik_bf16* weight; /* [columns], 16-byte aligned */
  tik_mutable_rows sum;   /* x + residual in bfloat16, which is what is normalised; may be x or residual itself. NULL without */
  tik_mutable_rows out;   /* may be x or residual itself when they are not sum */
  /* 1: what wrote weight has ended when this call, or the graph that holds it, is launched, as in tik_linear_args; 0 is always
   * right. */
  int32_t weight_settled;
  void* stream; /* a cudaStream_t; NULL on the CPU backend */
} tik_rms_norm_args;

/* Normalises every row. */
tik_status tik_rms_norm(const tik_rms_norm_args* args);

/* Gradients of tik_rms_norm. With r = 1 / sqrt(mean of x^2 + epsilon) and g = out_gradient * weight:
 *   x_gradient      = r * (g - x * r * mean over c of (g * x * r)) + sum_gradient
 *   weight_gradient = weight_gradient + sum over rows of out_gradient * x * r
 * x is what was normalised: with a residual, `sum` of the forward call; x_gradient is then the gradient of x and of the
 * residual.
 */
typedef struct tik_rms_norm_backward_args {
  uint32_t struct_bytes;
  int32_t tokens, heads, columns;
  float epsilon;
  tik_rows x;
  const tik_bf16* weight;
  tik_rows out_gradient;
  tik_rows sum_gradient;       /* what reaches `sum` past the norm, in bfloat16; data NULL: nothing does */
  tik_mutable_rows x_gradient; /* may be out_gradient or sum_gradient itself */
  float* weight_gradient;      /* [columns], 16-byte aligned; is added to. NULL when not wanted */
  void* workspace;             /* 256-byte aligned; NULL when its size is 0. Calls that run at the same time need their own */
  size_t workspace_bytes;
  void* stream;
} tik_rms_norm_backward_args;

tik_status tik_rms_norm_backward(const tik_rms_norm_backward_args* args);

/* Bytes of workspace for a backward call of this many rows that wants weight_gradient. */
int64_t tik_rms_norm_backward_workspace_bytes(int32_t tokens, int32_t heads, int32_t columns);

#ifdef __cplusplus
}
#endif
#endif
