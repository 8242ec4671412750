/* Rotary position embedding (RoPE) in the form of NeoX: column i of a head rotates with column i + head_dim / 2.
 *
 * For the token at position p and i < head_dim / 2, with the table's cos = table[p, i] and sin = table[p, head_dim / 2 + i]:
 *   out[i]                = x[i] * cos - x[i + head_dim / 2] * sin
 *   out[i + head_dim / 2] = x[i + head_dim / 2] * cos + x[i] * sin
 *
 * A row's bits depend on the row and its line of the table alone, and are the same on every backend (docs/numerics.md).
 */
#ifndef TIK_ROTARY_CONTRACT_H
#define TIK_ROTARY_CONTRACT_H

#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tik_rotary_scaling {
  TIK_ROTARY_UNSCALED = 0,
  TIK_ROTARY_YARN = 1 /* YaRN (Peng et al. 2023, arXiv:2309.00071), as Qwen2.5 and Qwen3 use it for long contexts */
} tik_rotary_scaling;

/* The table, on the host: float64 angles, each cosine and sine rounded to fp32 once. Copy it to where the rotation runs. */
typedef struct tik_rotary_table_args {
  uint32_t struct_bytes; /* sizeof(tik_rotary_table_args): tells versions apart */
  int32_t positions;     /* lines of the table, at least 1 */
  int32_t head_dim;      /* 64 or 128 */
  int32_t scaling;       /* a tik_rotary_scaling */
  double base;           /* rope_theta, > 1: angle i of position p is p * base^(-2 i / head_dim) */
  /* YaRN alone: */
  double factor;              /* how many times the original context, >= 1 */
  int32_t original_positions; /* context before scaling, at least 1 */
  double beta_fast;           /* frequencies that turn more often within the original context stay, usually 32 */
  double beta_slow;           /* those that turn less often are divided by factor, usually 1; between them a ramp */
  double attention_factor;    /* multiplies cosines and sines; 0: 0.1 * ln(factor) + 1 */
  float* table;               /* host memory, [positions, head_dim]: head_dim / 2 cosines, then as many sines */
} tik_rotary_table_args;

tik_status tik_rotary_table(const tik_rotary_table_args* args);

/* Rotates queries and keys, or their gradients back. Pointers are device memory for a CUDA backend and host memory for the CPU
 * backend. No call allocates or synchronises. */
typedef struct tik_rotary_args {
  uint32_t struct_bytes; /* sizeof(tik_rotary_args) */
  int32_t tokens;        /* at least 1 */
  int32_t query_heads;   /* at least 1 */
  int32_t key_heads;     /* 0: queries alone */
  int32_t head_dim;      /* 64 or 128 */
  int32_t inverse;       /* 1: by the negative angle, which turns gradients of the outputs into those of the inputs; else 0 */
  int32_t settled;       /* 1: what wrote table and positions has ended, as in tik_kv_target; 0 is always right */
  int32_t table_positions;
  const float* table;       /* [table_positions, head_dim], 16-byte aligned */
  const int32_t* positions; /* [tokens]. Negative: the token is padding and is not written; its rows are memory all the same. At
                               or after table_positions: refused by the CPU backend; a CUDA backend writes NaN. */
  tik_rows queries;
  tik_rows keys;
  tik_mutable_rows queries_out; /* may be queries itself */
  tik_mutable_rows keys_out;    /* may be keys itself */
  void* stream;                 /* a cudaStream_t; NULL on the CPU backend */
} tik_rotary_args;

tik_status tik_rotary(const tik_rotary_args* args);

#ifdef __cplusplus
}
#endif
#endif
