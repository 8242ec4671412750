/* Rows of bfloat16 numbers in memory: how operators that treat every token alike take their tensors.
 *
 * Row (token, head) begins at data + token * token_stride + head * head_stride; its columns are contiguous. Strides count
 * elements and are multiples of 8; data is 16-byte aligned. An operator on whole tokens has one head and ignores head_stride.
 */
#ifndef TIK_ROWS_H
#define TIK_ROWS_H

#include "operators/abi.h"

typedef struct tik_rows {
  const tik_bf16* data;
  int64_t token_stride;
  int64_t head_stride;
} tik_rows;

/* Rows that a call writes. No two of them may share memory. */
typedef struct tik_mutable_rows {
  tik_bf16* data;
  int64_t token_stride;
  int64_t head_stride;
} tik_mutable_rows;

#endif
