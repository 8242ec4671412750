/* What the C contracts of all operators share. */
#ifndef TIK_ABI_H
#define TIK_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A bfloat16 number as its 16 bits. */
typedef uint16_t tik_bf16;

typedef enum tik_status {
  TIK_OK = 0,
  TIK_INVALID_ARGUMENT = 1, /* an argument contradicts the contract */
  TIK_UNSUPPORTED = 2,      /* a valid request that this backend does not implement */
  TIK_WORKSPACE_TOO_SMALL = 3,
  TIK_DEVICE_ERROR = 4
} tik_status;

#endif
