/* SwiGLU: out[t, c] = gate[t, c] / (1 + exp(-gate[t, c])) * up[t, c], and its gradients.
 *
 * gate and up may be halves of one matrix. An element's bits depend on its gate and up alone, and are the same on every backend
 * (docs/numerics.md). Pointers are device memory for a CUDA backend and host memory for the CPU backend. No call allocates or
 * synchronises.
 */
#ifndef TIK_SWIGLU_CONTRACT_H
#define TIK_SWIGLU_CONTRACT_H

#include "operators/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tik_swiglu_args {
  uint32_t struct_bytes; /* sizeof(tik_swiglu_args): tells versions apart */
  int32_t tokens;        /* at least 1 */
  int32_t columns;       /* a multiple of 8, at most 65536 */
  tik_rows gate;
  tik_rows up;
  tik_mutable_rows out; /* may be gate or up itself */
  void* stream;         /* a cudaStream_t; NULL on the CPU backend */
} tik_swiglu_args;

tik_status tik_swiglu(const tik_swiglu_args* args);

typedef struct tik_swiglu_backward_args {
  uint32_t struct_bytes;
  int32_t tokens, columns;
  tik_rows gate;
  tik_rows up;
  tik_rows out_gradient;
  tik_mutable_rows gate_gradient; /* each may be gate, up or out_gradient itself */
  tik_mutable_rows up_gradient;
  void* stream;
} tik_swiglu_backward_args;

tik_status tik_swiglu_backward(const tik_swiglu_backward_args* args);

#ifdef __cplusplus
}
#endif
#endif
