/* The language-model head with the log-probability of a given token: the one function that rollout and policy update both call.
 *
 *   z[t, v]            = (sum over k of x[t, k] * weight[v, k]) / temperature          fp32, never rounded to bfloat16
 *   log_sum[t]         = ln(sum over v of exp(z[t, v]))
 *   log_probability[t] = z[t, target[t]] - log_sum[t]
 *   entropy[t]         = log_sum[t] - sum over v of exp(z[t, v] - log_sum[t]) * z[t, v]
 *
 * A row's bits depend on its row of x, the weight, its target and the temperature alone. The logits of a long sequence are
 * never stored: they pass through a workspace of bounded size. Where they exist already (a sampler needed them),
 * tik_token_log_probability gives the same bits from them as tik_language_model_head gives from x.
 *
 * Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call but
 * tik_language_model_head_prepare allocates or synchronises; what tik_linear_prepare says holds for it, too.
 */
#ifndef TIK_LANGUAGE_MODEL_HEAD_CONTRACT_H
#define TIK_LANGUAGE_MODEL_HEAD_CONTRACT_H

#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is wanted of the softmax over each row. All outputs are [tokens]. */
typedef struct tik_log_probability_outputs {
  const int32_t*
      targets; /* [tokens]: token ids. A negative one asks for nothing: 0 is written; one past the vocabulary gives NaN */
  float* log_probability; /* 4-byte aligned, like the others */
  float* entropy;         /* NULL: not wanted */
  float* log_sum;         /* NULL: not wanted; the backward call needs it */
} tik_log_probability_outputs;

typedef struct tik_language_model_head_args {
  uint32_t struct_bytes; /* sizeof(tik_language_model_head_args): tells versions apart */
  int32_t tokens;        /* 1 to 65536 */
  int32_t in_features;   /* a multiple of 16, at most 65536 */
  int32_t vocabulary;    /* a multiple of 8, at most 2^20 */
  float temperature;     /* finite, > 0 */
  tik_rows x;            /* [tokens, in_features] */
  tik_rows weight;       /* [vocabulary, in_features] */
  tik_log_probability_outputs outputs;
  int32_t weight_settled; /* as in tik_linear_args */
  void* workspace;        /* 256-byte aligned. Calls that run at the same time need their own */
  size_t workspace_bytes; /* at least tik_language_model_head_workspace_bytes */
  void* stream;           /* a cudaStream_t; NULL on the CPU backend */
} tik_language_model_head_args;

tik_status tik_language_model_head(const tik_language_model_head_args* args);

/* Makes tik_language_model_head ready for these sizes: tik_linear_prepare for the products that it is made of. */
typedef tik_language_model_head_args tik_language_model_head_prepare_args;
tik_status tik_language_model_head_prepare(const tik_language_model_head_prepare_args* args);

/* Bytes of workspace of a call of this size or of fewer tokens: at most 64 MiB of logits, and 12 bytes for each of
 * at most 4096 tokens and every 1024 of the vocabulary. */
int64_t tik_language_model_head_workspace_bytes(int32_t tokens, int32_t vocabulary);

/* The same from logits in memory, as tik_linear writes them with out_type TIK_FP32. */
typedef struct tik_token_log_probability_args {
  uint32_t struct_bytes;
  int32_t tokens;
  int32_t vocabulary;
  float temperature;
  const float* logits;   /* [tokens, vocabulary], 16-byte aligned */
  int64_t logits_stride; /* elements between rows: a multiple of 8, at least vocabulary */
  tik_log_probability_outputs outputs;
  void* workspace;
  size_t workspace_bytes; /* at least tik_token_log_probability_workspace_bytes */
  void* stream;
} tik_token_log_probability_args;

tik_status tik_token_log_probability(const tik_token_log_probability_args* args);
int64_t tik_token_log_probability_workspace_bytes(int32_t tokens, int32_t vocabulary);

/* Gradients of tik_language_model_head, whose logits it computes again. With p = exp(z - log_sum), the gradient of a logit is
 *   d[t, v] = (log_probability_gradient[t] * ((v == target[t]) - p[t, v])
 *              - entropy_gradient[t] * p[t, v] * (z[t, v] - log_sum[t] + entropy[t])) / temperature
 * rounded to bfloat16, and
 *   x_gradient[t, k]      = sum over v of d[t, v] * weight[v, k]
 *   weight_gradient[v, k] = weight_gradient[v, k] + sum over t of d[t, v] * x[t, k]
 * A token with a negative target has no gradient of its log-probability. */
typedef struct tik_language_model_head_backward_args {
  uint32_t struct_bytes;
  int32_t tokens, in_features, vocabulary;
  float temperature;
  tik_rows x;
  tik_rows weight;
  const int32_t* targets;
  const float* log_sum;                  /* [tokens], of the forward call */
  const float* entropy;                  /* [tokens], of the forward call; NULL without entropy_gradient */
  const float* log_probability_gradient; /* [tokens] */
  const float* entropy_gradient;         /* [tokens]; NULL: none */
  tik_mutable_rows x_gradient;           /* [tokens, in_features]; data NULL: not wanted */
  float* weight_gradient;                /* [vocabulary, in_features], dense, 16-byte aligned; is added to. NULL: not wanted */
  void* workspace;
  size_t workspace_bytes; /* at least tik_language_model_head_backward_workspace_bytes */
  void* stream;
} tik_language_model_head_backward_args;

tik_status tik_language_model_head_backward(const tik_language_model_head_backward_args* args);
int64_t tik_language_model_head_backward_workspace_bytes(int32_t tokens, int32_t in_features, int32_t vocabulary);

#ifdef __cplusplus
}
#endif
#endif
