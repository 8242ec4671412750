// The operators' library for CPUs with one fault, of the operator that TIK_CHANGED names: the lowest bit of one output of a
// call with several tokens. What `tik check` must find.
#include <cstdlib>
#include <string_view>

#include "operators/functions.h"

namespace tik::operators::changed {

using namespace cpu;

bool is_changed(std::string_view name) {
  char const* const changed = std::getenv("TIK_CHANGED");
  return changed != nullptr && name == changed;
}

tik_status swiglu(tik_swiglu_args const* args) {
  tik_status const status = cpu::swiglu(args);
  if (status == TIK_OK && is_changed("swiglu") && args->tokens > 1) args->out.data[args->out.token_stride + 1] ^= 1;
  return status;
}

tik_status linear(tik_linear_args const* args) {
  tik_status const status = cpu::linear(args);
  if (status == TIK_OK && is_changed("linear") && args->tokens > 1) static_cast<tik_bf16*>(args->out)[args->out_stride] ^= 1;
  return status;
}

tik_status language_model_head(tik_language_model_head_args const* args) {
  tik_status const status = cpu::language_model_head(args);
  if (status == TIK_OK && is_changed("language_model_head") && args->tokens > 1)
    reinterpret_cast<std::uint32_t*>(args->outputs.log_probability)[1] ^= 1;
  return status;
}

} // namespace tik::operators::changed

#define TIK_BACKEND changed
#include "operators/c_abi.cpp"

extern "C" tik_status tik_unchanged_attention_decode(tik_attention_args const* args);

extern "C" tik_status tik_attention_decode(tik_attention_args const* args) {
  tik_status const status = tik_unchanged_attention_decode(args);
  if (status == TIK_OK && tik::operators::changed::is_changed("attention") && args->batch > 1)
    args->out[args->out_token_stride] ^= 1;
  return status;
}
