// The embedding and its gradient on CPUs.
#include <algorithm>

#include "operators/arithmetic.h"
#include "operators/cpu/backend.h"
#include "operators/embedding/validate.h"
#include "operators/functions.h"

namespace tik::operators::cpu {
namespace {

std::optional<Refusal> check_ids(int32_t const* ids, int32_t tokens, int32_t vocabulary) {
  for (int32_t token = 0; token < tokens; ++token) {
    if (ids[token] >= 0 && ids[token] < vocabulary) continue;
    return validation::invalid("ids[", token, "] is ", ids[token], ", but ids are 0 to ", vocabulary - 1, ".");
  }
  return std::nullopt;
}

} // namespace

tik_status embedding(tik_embedding_args const* args) {
  if (auto bad = embedding::validate(args)) return Error::keep(std::move(bad));
  if (auto bad = check_ids(args->ids, args->tokens, args->vocabulary)) return Error::keep(std::move(bad));
  for (int32_t token = 0; token < args->tokens; ++token)
    std::copy_n(row(args->table, args->ids[token]), args->columns, row(args->out, token));
  return TIK_OK;
}

tik_status embedding_backward(tik_embedding_backward_args const* args) {
  if (auto bad = embedding::validate(args)) return Error::keep(std::move(bad));
  if (auto bad = check_ids(args->ids, args->tokens, args->vocabulary)) return Error::keep(std::move(bad));
  for (int32_t token = 0; token < args->tokens; ++token) {
    tik_bf16 const* const gradient = row(args->out_gradient, token);
    float* const sum = args->table_gradient + args->ids[token] * args->table_gradient_stride;
    for (int c = 0; c < args->columns; ++c) sum[c] = add(sum[c], to_float(gradient[c]));
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
