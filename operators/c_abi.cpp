// The C functions of the contracts, for the backend of the library that this file is compiled into (TIK_BACKEND: cpu or sm90).
#include "operators/attention_backward/validate.h"
#include "operators/functions.h"
#include "operators/language_model_head/workspace.h"
#include "operators/library.h"
#include "operators/rms_norm/validate.h"

namespace backend = tik::operators::TIK_BACKEND;

extern "C" {

int32_t tik_operators_abi_version(void) { return TIK_OPERATORS_ABI_VERSION; }

char const* tik_operators_backend(void) { return backend::backend_name(); }

char const* tik_operators_last_error(void) { return backend::last_error(); }

#define TIK_DEFINE(name) \
  tik_status tik_##name(tik_##name##_args const* args) { return backend::name(args); }
TIK_OPERATOR_FUNCTIONS(TIK_DEFINE)
#undef TIK_DEFINE

int64_t tik_attention_full_backward_workspace_bytes(int32_t tokens, int32_t query_heads) {
  return tik::operators::attention_backward::workspace_bytes(tokens, query_heads);
}

int64_t tik_rms_norm_backward_workspace_bytes(int32_t tokens, int32_t heads, int32_t columns) {
  return tik::operators::rms_norm::backward_workspace_bytes(tokens, heads, columns);
}

int64_t tik_language_model_head_workspace_bytes(int32_t tokens, int32_t vocabulary) {
  return tik::operators::language_model_head::forward_regions(tokens, vocabulary).bytes;
}

int64_t tik_token_log_probability_workspace_bytes(int32_t tokens, int32_t vocabulary) {
  return tik::operators::language_model_head::softmax_regions(tokens, vocabulary).bytes;
}

int64_t tik_language_model_head_backward_workspace_bytes(int32_t tokens, int32_t in_features, int32_t vocabulary) {
  return tik::operators::language_model_head::backward_regions(tokens, in_features, vocabulary).bytes;
}
}
