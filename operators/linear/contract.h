/* Dense linear: out[t, n] = sum over k of x[t, k] * weight[n, k] (+ bias[n]), with bfloat16 operands and fp32 accumulation.
 *
 * The bits of out[t, n] depend on row t of x, row n of the weight and bias[n] alone: not on the other tokens or their number,
 * not on the other rows of the weight, so that projections whose weights lie one after the other (query, key and value; gate
 * and up) may be computed by one call or by several. docs/numerics.md says which sum each backend computes.
 *
 * Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call but tik_linear_prepare
 * and tik_linear_plan allocates or synchronises; it says there when the first must come before.
 */
#ifndef TIK_LINEAR_CONTRACT_H
#define TIK_LINEAR_CONTRACT_H

#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tik_number {
  TIK_BF16 = 0,
  TIK_FP32 = 1,
} tik_number;

/* What a call may use beside its operands: this many bytes, 256-byte aligned. Calls that run at the same time need their own.
 * NULL is allowed and never shows in the bits; calls of many tokens are then slower. The CPU backend uses none. */
#define TIK_LINEAR_WORKSPACE_BYTES 1024

typedef struct tik_linear_args {
  uint32_t struct_bytes; /* sizeof(tik_linear_args): tells versions apart */
  int32_t tokens;        /* rows of x and out: 1 to 65536 */
  int32_t in_features;   /* columns of x and of the weight: a multiple of 16, at most 65536 */
  int32_t out_features;  /* rows of the weight, columns of out: a multiple of 8, at most 2^20 */
  tik_rows x;            /* [tokens, in_features] */
  tik_rows weight;       /* [out_features, in_features]: token_stride is the distance of its rows; none overlap */
  const tik_bf16* bias;  /* [out_features], 16-byte aligned; NULL: none */
  void* out;             /* [tokens, out_features] numbers of out_type, 16-byte aligned; overlaps no input */
  int64_t out_stride;    /* elements between rows of out: a multiple of 8, at least out_features */
  int32_t out_type;      /* a tik_number: bfloat16, rounded once from the fp32 sum, or that sum itself */
  /* 1: what wrote weight and bias has ended when this call, or the graph that holds it, is launched, as in a rollout whose
   * weights stay: a backend may read them before the work that the stream does before this call has ended. 0 is always right.
   */
  int32_t weight_settled;
  void* workspace; /* TIK_LINEAR_WORKSPACE_BYTES or NULL */
  void* stream;    /* a cudaStream_t; NULL on the CPU backend */
} tik_linear_args;

tik_status tik_linear(const tik_linear_args* args);

/* Makes tik_linear ready for calls with these sizes, types and strides: the fastest of the vendor's algorithms and of this
 * library's kernels is found by measurement and its bits are compared with the canonical sum, once in a process for each device
 * and number of tokens (rounded up to a power of two or half as much again). Allocates up to 1.5 GB, less for few tokens, and
 * frees it; synchronises. Rounds of measuring begin for 0.1 s, and nine at least: half a second at most for a size of a model.
 * tik_linear does this itself when it is needed and no graph is being captured; during a capture it refuses instead. `x`,
 * `weight`, `bias` and `out` are not read or written, but must be good. The CPU backend has nothing to prepare. */
typedef tik_linear_args tik_linear_prepare_args;
tik_status tik_linear_prepare(const tik_linear_prepare_args* args);

/* Says how tik_linear computes a call: the vendor's algorithm with its settings or the cut of this library's kernel, what a
 * launch took when it was chosen, and what the next best took. For logs and results of measurements: the words may change, and
 * another process may choose another way, which never shows in the bits. Prepares like tik_linear_prepare when that has not
 * happened. */
#define TIK_LINEAR_PLAN_BYTES 256
typedef struct tik_linear_plan_args {
  uint32_t struct_bytes;
  tik_linear_args call; /* as tik_linear_prepare takes it */
  char* text;           /* [TIK_LINEAR_PLAN_BYTES] of host memory: a line that ends with a zero is written there */
} tik_linear_plan_args;
tik_status tik_linear_plan(const tik_linear_plan_args* args);

/* Gradients of tik_linear:
 *   x_gradient[t, k]      = sum over n of out_gradient[t, n] * weight[n, k]                                 (rounded once)
 *   weight_gradient[n, k] = weight_gradient[n, k] + sum over t of out_gradient[t, n] * x[t, k]
 *   bias_gradient[n]      = bias_gradient[n] + sum over t of out_gradient[t, n]
 * The same call on the same inputs gives the same bits. Rows of x_gradient are as independent as those of tik_linear. */
typedef struct tik_linear_backward_args {
  uint32_t struct_bytes;
  int32_t tokens, in_features, out_features; /* tokens: any number that tik_linear takes */
  tik_rows x;                                /* [tokens, in_features]; data NULL without weight_gradient */
  tik_rows weight;                           /* [out_features, in_features]; data NULL without x_gradient */
  tik_rows out_gradient;                     /* [tokens, out_features] */
  tik_mutable_rows x_gradient;               /* [tokens, in_features]; data NULL: not wanted */
  float* weight_gradient; /* [out_features, in_features], dense, 16-byte aligned; is added to. NULL: not wanted */
  float* bias_gradient;   /* [out_features], 16-byte aligned; is added to. NULL: not wanted */
  void* workspace;        /* TIK_LINEAR_WORKSPACE_BYTES or NULL */
  void* stream;
} tik_linear_backward_args;

tik_status tik_linear_backward(const tik_linear_backward_args* args);

#ifdef __cplusplus
}
#endif
#endif
