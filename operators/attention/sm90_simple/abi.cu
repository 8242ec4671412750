// The C ABI of operators/attention/contract.h: validates and launches. No call synchronises or allocates.
#include "launch.h"
#include "operators/attention/validate.h"

namespace attention {

int64_t workspace_bytes(tik_attention_shape const&, tik_attention_limits const&) { return 0; }

namespace {

thread_local std::string last_error;

tik_status refuse(tik::attention::Refusal refusal) {
  last_error = std::move(refusal.sentence);
  return refusal.status;
}

tik_status run(tik::attention::Entry entry, tik_attention_args const* args) {
  if (auto bad = tik::attention::validate_args(entry, args, workspace_bytes)) return refuse(*std::move(bad));
  cudaError_t const error = entry == tik::attention::Entry::decode ? launch_decode(*args) : launch_full(*args);
  if (error == cudaSuccess) return TIK_OK;
  return refuse({TIK_DEVICE_ERROR, std::string("The kernel cannot be launched: ") + cudaGetErrorString(error) + "."});
}

} // namespace
} // namespace attention

extern "C" {

int32_t tik_attention_abi_version(void) { return TIK_ATTENTION_ABI_VERSION; }

int64_t tik_attention_workspace_bytes(tik_attention_shape const* shape, tik_attention_limits const* limits) {
  if (shape == nullptr || limits == nullptr) {
    attention::refuse({TIK_INVALID_ARGUMENT, "shape or limits is NULL: tik_attention_workspace_bytes needs both."});
    return -1;
  }
  auto bad = tik::attention::validate_shape(*shape);
  if (!bad) bad = tik::attention::validate_limits(*limits);
  if (!bad) return attention::workspace_bytes(*shape, *limits);
  attention::refuse(*std::move(bad));
  return -1;
}

tik_status tik_attention_full(tik_attention_args const* args) { return attention::run(tik::attention::Entry::full, args); }
tik_status tik_attention_extend(tik_attention_args const* args) { return attention::run(tik::attention::Entry::extend, args); }
tik_status tik_attention_decode(tik_attention_args const* args) { return attention::run(tik::attention::Entry::decode, args); }
char const* tik_attention_last_error(void) { return attention::last_error.c_str(); }
}
