/* Memory, graphs and time for bench.py, as plain C functions. Every function that can fail returns 0 or a CUDA error number;
 * bench_error_text() says what a number means. */
#ifndef TIK_BENCH_ATTENTION_HARNESS_H
#define TIK_BENCH_ATTENTION_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

char const* bench_error_text(int error);

/* Name, driver and runtime of the current device as one line of JSON. The text lives as long as the library. */
char const* bench_machine(void);

/* Device memory, never freed: a bench allocates once. */
int bench_allocate(size_t bytes, void** memory);
int bench_zero(void* memory, size_t bytes);
int bench_upload(void* memory, void const* host, size_t bytes);

/* Fills with standard normals as bfloat16. */
int bench_fill_normal(void* memory, size_t bytes, uint64_t seed);

int bench_create_stream(void** stream);
int bench_synchronize(void);

/* What is launched on `stream` between the two becomes a graph. */
int bench_begin_capture(void* stream);
int bench_end_capture(void* stream, void** graph);
int bench_replay(void* graph, void* stream);
int bench_destroy(void* graph);

/* Overwrites more memory than the L2 cache holds. */
int bench_flush_cache(void* stream);

/* Microseconds between two calls of bench_mark on the stream: marks 0 and 1. bench_elapsed waits for the second. */
int bench_mark(int mark, void* stream);
int bench_elapsed(float* microseconds);

/* Reads `bytes` of keys and of values once, `loads` of 16 bytes a thread (1, 2, 4 or 8): the least a decode step must do. */
int bench_read(void const* keys, void const* values, size_t bytes, int loads, void* stream);

/* wgmma m64n256k16 on resident operands on every multiprocessor: the most the tensor cores do. The operations of one launch are
 * written to *operations. */
int bench_matrix(int iterations, double* operations, void* stream);

#ifdef __cplusplus
}
#endif
#endif
