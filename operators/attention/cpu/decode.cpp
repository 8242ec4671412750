// The token-wise entry points: query tokens at the end of cached sequences. extend is here and not with full because it reads
// the cache as decode does; a chunk is its tokens, one after the other.
#include "check.h"
#include "numerics.h"
#include "tile.h"

namespace tik::attention::cpu {
namespace {

// Keys that are read together.
constexpr int step_keys = tile_keys;

// All heads of the query token in `query_row`, which has `position` in its sequence.
template <int HeadDim>
[[gnu::noinline]] void attend_token(tik_attention_args const& args, int sequence, int64_t query_row, int position) {
  float const scale = args.shape.softmax_scale;
  int const ratio = args.shape.query_heads / args.shape.kv_heads;
  for (int head = 0; head < args.shape.query_heads; ++head) {
    CachedSequence const cache(args, sequence, head / ratio);
    alignas(64) float query[HeadDim];
    load_query(args.queries + query_row * args.query_token_stride + head * args.query_head_stride, query);
    Row<HeadDim> row;
    for (int first = 0; first <= position; first += step_keys) {
      int const visible = smaller(step_keys, position + 1 - first);
      Tile<HeadDim, step_keys> tile;
      load_tile(tile, cache, first, visible);
      absorb(row, query, scale, tile, visible);
    }
    finish(row, scale, args.out + query_row * args.out_token_stride + head * args.out_head_stride,
           args.lse == nullptr ? nullptr : args.lse + query_row * args.shape.query_heads + head);
  }
}

// The row of a sequence without tokens, which pads a batch.
void write_padding(tik_attention_args const& args, int64_t query_row) {
  for (int head = 0; head < args.shape.query_heads; ++head) {
    tik_bf16* const out = args.out + query_row * args.out_token_stride + head * args.out_head_stride;
    for (int d = 0; d < args.shape.head_dim; ++d) out[d] = 0;
    if (args.lse != nullptr) args.lse[query_row * args.shape.query_heads + head] = -std::numeric_limits<float>::infinity();
  }
}

template <int HeadDim>
void decode(tik_attention_args const& args) {
  for (int b = 0; b < args.batch; ++b) {
    if (args.kv_lengths[b] == 0) {
      write_padding(args, b);
    } else {
      attend_token<HeadDim>(args, b, b, args.kv_lengths[b] - 1);
    }
  }
}

template <int HeadDim>
void extend(tik_attention_args const& args) {
  for (int b = 0; b < args.batch; ++b) {
    int const end_row = args.query_offsets[b + 1];
    for (int row = args.query_offsets[b]; row < end_row; ++row) {
      attend_token<HeadDim>(args, b, row, args.kv_lengths[b] - (end_row - row));
    }
  }
}

} // namespace
} // namespace tik::attention::cpu

tik_status tik_attention_extend(tik_attention_args const* args) {
  using namespace tik::attention::cpu;
  if (tik_status const status = check_extend(args); status != TIK_OK) return status;
  args->shape.head_dim == 64 ? extend<64>(*args) : extend<128>(*args);
  return TIK_OK;
}

tik_status tik_attention_decode(tik_attention_args const* args) {
  using namespace tik::attention::cpu;
  if (tik_status const status = check_decode(args); status != TIK_OK) return status;
  args->shape.head_dim == 64 ? decode<64>(*args) : decode<128>(*args);
  return TIK_OK;
}
