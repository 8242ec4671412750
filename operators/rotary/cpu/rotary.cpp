// RoPE on CPUs.
#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/rotary/arithmetic.h"
#include "operators/rotary/cpu/rotate.h"
#include "operators/rotary/table.h"

namespace tik::operators::cpu {
namespace {

void rotate_heads(tik_rotary_args const& args, int64_t token, int heads, tik_rows const& from, tik_mutable_rows const& to) {
  float const* const line = args.table + int64_t{args.positions[token]} * args.head_dim;
  for (int head = 0; head < heads; ++head) {
    rotate(row(from, token, head), line, args.head_dim, args.inverse != 0, row(to, token, head));
  }
}

} // namespace

tik_status rotary_table(tik_rotary_table_args const* args) { return Error::keep(rotary::fill_table(args)); }

tik_status rotary(tik_rotary_args const* args) {
  if (auto bad = rotary::validate(args)) return Error::keep(std::move(bad));
  if (auto bad = check_positions(args->positions, args->tokens, "table_positions", args->table_positions))
    return Error::keep(std::move(bad));
  for (int64_t token = 0; token < args->tokens; ++token) {
    if (args->positions[token] < 0) continue;
    rotate_heads(*args, token, args->query_heads, args->queries, args->queries_out);
    rotate_heads(*args, token, args->key_heads, args->keys, args->keys_out);
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
