// QK-norm, RoPE and the write into the cache in one kernel on Hopper: some lanes of a warp share a head, each with the chunks
// of eight pairs of columns.
#include "operators/functions.h"
#include "operators/qk_norm_rope_kv_write/sm90/few_tokens_kernel.cuh"
#include "operators/qk_norm_rope_kv_write/sm90/many_tokens_kernel.cuh"
#include "operators/qk_norm_rope_kv_write/validate.h"

namespace tik::operators::sm90 {
namespace {

using Args = tik_qk_norm_rope_kv_write_args;

// With so many heads a thread.
FusedParams fused_params(Args const& args, int heads) {
  int const groups = (args.query_heads + 2 * args.kv_heads + heads - 1) / heads;
  return {places(args.queries),
          places(args.keys),
          places(args.values),
          places(args.queries_out),
          args.query_weight,
          args.key_weight,
          cache_params(args.target),
          args.table,
          args.table_positions,
          args.query_heads,
          args.kv_heads,
          args.tokens,
          groups,
          Divisor(groups * args.head_dim / (2 * chunk_columns)),
          rms_norm::inverse_columns(args.head_dim),
          args.epsilon};
}

template <int HeadDim, int Heads>
cudaError_t launch_few(Args const& args) {
  FusedParams const params = fused_params(args, Heads);
  dim3 const grid((args.tokens * params.items_a_token.divisor + few_tokens_threads - 1) / few_tokens_threads);
  return launch_overlapped(few_tokens_kernel<HeadDim, Heads>, grid, few_tokens_threads, args.stream, params);
}

bool takes_many(Args const& args) {
  int const heads = args.query_heads + 2 * args.kv_heads;
  return args.query_heads % many_tokens_heads == 0 && args.kv_heads % many_tokens_heads == 0 &&
         heads / many_tokens_heads * args.head_dim / (2 * chunk_columns) <= many_tokens_largest;
}

template <int HeadDim, bool WithNorm>
cudaError_t launch_many(Args const& args, ManyTokensCut const& cut) {
  FusedParams const params = fused_params(args, many_tokens_heads);
  int const items = params.items_a_token.divisor;
  bool const resident = cut.turns == 0;
  int const slots = std::max(1, cut.most_threads / items);
  int const threads = (slots * items + warp_threads - 1) / warp_threads * warp_threads;
  int const most_blocks = multiprocessors * (65536 / (many_tokens_registers * threads));
  int const turns = resident ? (args.tokens + slots * most_blocks - 1) / (slots * most_blocks) : cut.turns;
  int const blocks = (args.tokens + slots * turns - 1) / (slots * turns);
  TokenTurns const in_turn =
      resident ? TokenTurns{slots, slots, slots * blocks, turns} : TokenTurns{slots, slots * turns, slots, turns};
  return launch_overlapped_sharing(threads * many_tokens_staged, many_tokens_kernel<HeadDim, WithNorm>, dim3(blocks), threads,
                                   args.stream, params, in_turn);
}

template <int HeadDim>
cudaError_t launch_many(Args const& args, ManyTokensCut const& cut) {
  return args.query_weight != nullptr ? launch_many<HeadDim, true>(args, cut) : launch_many<HeadDim, false>(args, cut);
}

template <int HeadDim>
cudaError_t launch(Args const& args) {
  // So few threads are all resident when every head has its own.
  int64_t const items = int64_t{args.tokens} * (args.query_heads + 2 * args.kv_heads) * (HeadDim / (2 * chunk_columns));
  if (items <= multiprocessors * 1024) return launch_few<HeadDim, 1>(args);
  if (!takes_many(args)) return launch_few<HeadDim, 4>(args);
  return launch_many<HeadDim>(args, many_tokens_cut(args.tokens));
}

std::optional<Refusal> check(Args const* args, ManyTokensCut const& cut) {
  if (auto bad = qk_norm_rope_kv_write::validate(args)) return bad;
  if (auto bad = validation::check_range("most_threads", cut.most_threads, 1, many_tokens_largest)) return bad;
  if (auto bad = validation::check_range("turns", cut.turns, 0, most_turns)) return bad;
  if (takes_many(*args)) return std::nullopt;
  return Refusal{TIK_UNSUPPORTED,
                 validation::sentence("The kernel of many tokens has no place for query_heads ", args->query_heads,
                                      " with kv_heads ", args->kv_heads, ": both must be multiples of ", many_tokens_heads,
                                      ", and few enough for a block of threads.")};
}

} // namespace

tik_status qk_norm_rope_kv_write(Args const* args, ManyTokensCut const& cut) {
  return run("launching tik_qk_norm_rope_kv_write", check(args, cut),
             [&] { return args->head_dim == 64 ? launch_many<64>(*args, cut) : launch_many<128>(*args, cut); });
}

tik_status qk_norm_rope_kv_write(Args const* args) {
  return run("launching tik_qk_norm_rope_kv_write", qk_norm_rope_kv_write::validate(args),
             [&] { return args->head_dim == 64 ? launch<64>(*args) : launch<128>(*args); });
}

} // namespace tik::operators::sm90
