/* What a library of operators says of itself: libtik_operators_cpu and libtik_operators_sm90 export this and the functions of
 * every contract under operators/.
 */
#ifndef TIK_LIBRARY_H
#define TIK_LIBRARY_H

#include "operators/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the contracts under operators/, attention apart, which has its own. */
#define TIK_OPERATORS_ABI_VERSION 1

/* The version this library implements. */
int32_t tik_operators_abi_version(void);

/* Where its functions work: "cpu", on host memory, or "sm90", on the memory of a Hopper GPU. */
const char* tik_operators_backend(void);

/* The sentence that belongs to the last status other than TIK_OK on this thread: what was wrong, where, what to do. */
const char* tik_operators_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
