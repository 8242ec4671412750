// The C ABI of unified attention on Hopper: validates, selects a kernel, launches. No call synchronises or allocates.
#include <cuda_runtime.h>

#include "operators/attention/sm90/dispatch.h"
#include "operators/attention/sm90/launch.h"
#include "operators/sm90/launch.cuh"

namespace tik::attention::sm90 {
namespace {

thread_local std::string last_error;

tik_status refuse(Refusal refusal) {
  last_error = std::move(refusal.sentence);
  return refusal.status;
}

using operators::sm90::check_device;
using operators::sm90::device_error;

int64_t rounded(int64_t bytes) {
  int64_t const alignment = workspace_alignment;
  return (bytes + alignment - 1) / alignment * alignment;
}

int64_t blocks_of(int64_t size, int64_t block) { return (size + block - 1) / block; }

bool decode_is_faster(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  if (limits.query_length == 1) return true;
  if (limits.query_length > largest_decode_tokens) return false;
  int64_t const rows = int64_t{limits.query_length} * (shape.query_heads / shape.kv_heads);
  int64_t const decode_blocks = int64_t{limits.batch} * shape.kv_heads * blocks_of(rows, decode_block_rows);
  int64_t const full_blocks = int64_t{limits.batch} * shape.query_heads * blocks_of(limits.query_length, full_block_positions);
  return decode_blocks <= decode_blocks_a_round * blocks_of(full_blocks, multiprocessors);
}

// The workspace holds a region for each kernel that calls within the limits can reach: a kernel keeps counters at zero between
// its calls, so no other kernel may write there.
struct Regions {
  int64_t full;
  int64_t decode;
  int64_t bytes() const { return full + decode; }
};

Regions workspace_regions(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  return {rounded(full_workspace_bytes(shape, limits)),
          decode_is_faster(shape, limits) ? rounded(decode_workspace_bytes(shape, limits)) : 0};
}

int64_t workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  return workspace_regions(shape, limits).bytes();
}

cudaError_t launch(Kernel kernel, tik_attention_args const& args) {
  tik_attention_args call = args;
  switch (kernel) {
    case Kernel::simple:
      return launch_simple(call);
    case Kernel::full:
      return launch_full(call);
    case Kernel::decode:
      call.workspace = static_cast<char*>(args.workspace) + workspace_regions(args.shape, args.limits).full;
      return launch_decode(call);
  }
  return cudaErrorInvalidValue;
}

} // namespace

Kernel select_kernel(Entry entry, tik_attention_shape const& shape, tik_attention_limits const& limits) {
  if (entry == Entry::full) return Kernel::full;
  return decode_is_faster(shape, limits) ? Kernel::decode : Kernel::full;
}

tik_status run(Entry entry, tik_attention_args const* args, std::optional<Kernel> kernel) {
  if (auto bad = validate_args(entry, args, workspace_bytes)) return refuse(*std::move(bad));
  if (auto bad = check_device()) return refuse(*std::move(bad));
  Kernel const selected = kernel.value_or(select_kernel(entry, args->shape, args->limits));
  if (auto bad = device_error(function_name(entry), launch(selected, *args))) return refuse(*std::move(bad));
  return TIK_OK;
}

} // namespace tik::attention::sm90

using namespace tik::attention;

extern "C" {

int32_t tik_attention_abi_version(void) { return TIK_ATTENTION_ABI_VERSION; }

int64_t tik_attention_workspace_bytes(tik_attention_shape const* shape, tik_attention_limits const* limits) {
  if (shape == nullptr || limits == nullptr) {
    sm90::refuse({TIK_INVALID_ARGUMENT, "shape or limits is NULL: tik_attention_workspace_bytes needs both."});
    return -1;
  }
  auto bad = validate_shape(*shape);
  if (!bad) bad = validate_limits(*limits);
  if (!bad) return sm90::workspace_bytes(*shape, *limits);
  sm90::refuse(*std::move(bad));
  return -1;
}

tik_status tik_attention_full(tik_attention_args const* args) { return sm90::run(Entry::full, args); }

tik_status tik_attention_extend(tik_attention_args const* args) { return sm90::run(Entry::extend, args); }

tik_status tik_attention_decode(tik_attention_args const* args) { return sm90::run(Entry::decode, args); }

char const* tik_attention_last_error(void) { return sm90::last_error.c_str(); }
}
