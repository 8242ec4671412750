// The full-sequence entry point: every token of packed sequences against the tokens before it.
#include "check.h"
#include "numerics.h"
#include "tile.h"

namespace tik::attention::cpu {
namespace {

// One query head of one sequence of `tokens` tokens whose first row is `first_row`.
template <int HeadDim>
void attend_head(tik_attention_args const& args, CachedSequence const& cache, int head, int64_t first_row, int tokens) {
  float const scale = args.shape.softmax_scale;
  for (int position = 0; position < tokens; ++position) {
    int64_t const query_row = first_row + position;
    alignas(64) float query[HeadDim];
    load_query(args.queries + query_row * args.query_token_stride + head * args.query_head_stride, query);
    Row<HeadDim> row;
    for (int first = 0; first <= position; first += tile_keys) {
      int const visible = smaller(tile_keys, position + 1 - first);
      Tile<HeadDim> tile;
      load_tile(tile, cache, first, visible);
      absorb(row, query, scale, tile, visible);
    }
    finish(row, scale, args.out + query_row * args.out_token_stride + head * args.out_head_stride,
           args.lse == nullptr ? nullptr : args.lse + query_row * args.shape.query_heads + head);
  }
}

template <int HeadDim>
void attend(tik_attention_args const& args) {
  int const ratio = args.shape.query_heads / args.shape.kv_heads;
  for (int b = 0; b < args.batch; ++b) {
    int const first_row = args.query_offsets[b];
    for (int head = 0; head < args.shape.query_heads; ++head) {
      attend_head<HeadDim>(args, CachedSequence(args, b, head / ratio), head, first_row, args.query_offsets[b + 1] - first_row);
    }
  }
}

} // namespace
} // namespace tik::attention::cpu

tik_status tik_attention_full(tik_attention_args const* args) {
  using namespace tik::attention::cpu;
  if (tik_status const status = check_full(args); status != TIK_OK) return status;
  args->shape.head_dim == 64 ? attend<64>(*args) : attend<128>(*args);
  return TIK_OK;
}
