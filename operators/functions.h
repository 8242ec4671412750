// The operators of a backend as C++ functions. Function NAME takes a tik_NAME_args, as tik_NAME of its contract does; a program
// may hold several backends this way, where a C function exists once a library.
#pragma once

#include "operators/attention_backward/contract.h"
#include "operators/embedding/contract.h"
#include "operators/kv_write/contract.h"
#include "operators/language_model_head/contract.h"
#include "operators/linear/contract.h"
#include "operators/qk_norm_rope_kv_write/contract.h"
#include "operators/rms_norm/contract.h"
#include "operators/rotary/contract.h"
#include "operators/swiglu/contract.h"

// Every function but those of attention's own contract: FUNCTION(NAME).
// clang-format off
#define TIK_OPERATOR_FUNCTIONS(FUNCTION) \
  FUNCTION(rms_norm) \
  FUNCTION(rms_norm_backward) \
  FUNCTION(rotary_table) \
  FUNCTION(rotary) \
  FUNCTION(kv_write) \
  FUNCTION(qk_norm_rope_kv_write) \
  FUNCTION(swiglu) \
  FUNCTION(swiglu_backward) \
  FUNCTION(embedding) \
  FUNCTION(embedding_backward) \
  FUNCTION(linear) \
  FUNCTION(linear_prepare) \
  FUNCTION(linear_plan) \
  FUNCTION(linear_backward) \
  FUNCTION(language_model_head) \
  FUNCTION(language_model_head_prepare) \
  FUNCTION(language_model_head_backward) \
  FUNCTION(token_log_probability) \
  FUNCTION(attention_full_backward)
// clang-format on

namespace tik::operators {

#define TIK_DECLARE(name) tik_status name(tik_##name##_args const* args);

// A backend refuses what its contract does not allow, before any work; last_error() is the sentence of the thread's last
// refusal.
namespace cpu {
TIK_OPERATOR_FUNCTIONS(TIK_DECLARE)
char const* last_error();
char const* backend_name(); // "cpu"
} // namespace cpu

namespace sm90 {
TIK_OPERATOR_FUNCTIONS(TIK_DECLARE)
char const* last_error();
char const* backend_name(); // "sm90"
} // namespace sm90

#undef TIK_DECLARE

// The functions of one backend as values: what checks are written against.
struct Functions {
#define TIK_MEMBER(name) tik_status (*name)(tik_##name##_args const* args);
  TIK_OPERATOR_FUNCTIONS(TIK_MEMBER)
#undef TIK_MEMBER
  char const* (*last_error)();
};

#define TIK_FUNCTION(name) backend::name,
inline Functions cpu_functions() {
  namespace backend = cpu;
  return {TIK_OPERATOR_FUNCTIONS(TIK_FUNCTION) backend::last_error};
}
inline Functions sm90_functions() {
  namespace backend = sm90;
  return {TIK_OPERATOR_FUNCTIONS(TIK_FUNCTION) backend::last_error};
}
#undef TIK_FUNCTION

} // namespace tik::operators
