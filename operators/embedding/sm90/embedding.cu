// The embedding on Hopper: a thread copies a chunk of eight columns.
#include "operators/embedding/validate.h"
#include "operators/functions.h"
#include "operators/sm90/launch.cuh"
#include "operators/sm90/rows.cuh"

namespace tik::operators::sm90 {
namespace {

struct EmbeddingParams {
  int32_t const* ids;
  SourceRows table;
  TargetRows out;
  int vocabulary;
  Divisor chunks_a_token;
  int chunks;
};

constexpr int embedding_threads = 128;

__global__ void __launch_bounds__(embedding_threads) embedding_kernel(EmbeddingParams const params) {
  start_kernel_after();
  int const number = blockIdx.x * embedding_threads + threadIdx.x;
  int const token = params.chunks_a_token.quotient(number);
  int const column = (number - token * static_cast<int>(params.chunks_a_token.divisor)) * chunk_columns;
  wait_for_kernel_before();
  if (number >= params.chunks) return;
  int const id = params.ids[token];
  uint32_t const missing = bf16_nan | static_cast<uint32_t>(bf16_nan) << 16;
  uint4 chunk{missing, missing, missing, missing};
  if (id >= 0 && id < params.vocabulary) chunk = load_chunk(params.table.row(id, 0) + column);
  store_chunk(params.out.row(token, 0) + column, chunk);
}

cudaError_t launch(tik_embedding_args const& args) {
  int const chunks_a_token = args.columns / chunk_columns;
  EmbeddingParams const params{args.ids,        places(args.table),      places(args.out),
                               args.vocabulary, Divisor(chunks_a_token), args.tokens * chunks_a_token};
  return launch_overlapped(embedding_kernel, dim3((params.chunks + embedding_threads - 1) / embedding_threads),
                           embedding_threads, args.stream, params);
}

} // namespace

tik_status embedding(tik_embedding_args const* args) {
  return run("launching tik_embedding", embedding::validate(args), [&] { return launch(*args); });
}

} // namespace tik::operators::sm90
