/* The embedding of tokens: out[t, :] = table[ids[t], :], copied bit by bit, and the gradient of the table.
 * Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call allocates or synchronises.
 */
#ifndef TIK_EMBEDDING_CONTRACT_H
#define TIK_EMBEDDING_CONTRACT_H

#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tik_embedding_args {
  uint32_t struct_bytes; /* sizeof(tik_embedding_args): tells versions apart */
  int32_t tokens;        /* at least 1 */
  int32_t columns;       /* a multiple of 8, at most 65536 */
  int32_t vocabulary;    /* rows of the table, at least 1 */
  const int32_t* ids;    /* [tokens]. Outside of [0, vocabulary): refused by the CPU backend; a CUDA backend writes NaN. */
  tik_rows table;        /* token_stride is that of the vocabulary's rows */
  tik_mutable_rows out;
  void* stream; /* a cudaStream_t; NULL on the CPU backend */
} tik_embedding_args;

tik_status tik_embedding(const tik_embedding_args* args);

/* table_gradient[v, :] = (table_gradient[v, :] + out_gradient[t0, :]) + out_gradient[t1, :] ... over the tokens t0 < t1 < ...
 * with ids[t] = v, in fp32. Rows of other ids are not touched. */
typedef struct tik_embedding_backward_args {
  uint32_t struct_bytes;
  int32_t tokens, columns, vocabulary;
  const int32_t* ids; /* [tokens]. Outside of [0, vocabulary): refused by the CPU backend; ignored by a CUDA backend. */
  tik_rows out_gradient;
  float* table_gradient;         /* [vocabulary, table_gradient_stride], 16-byte aligned */
  int64_t table_gradient_stride; /* elements, a multiple of 8, at least columns */
  void* stream;
} tik_embedding_backward_args;

tik_status tik_embedding_backward(const tik_embedding_backward_args* args);

#ifdef __cplusplus
}
#endif
#endif
