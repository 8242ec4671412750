// The kernels as host functions: abi.cu validates, these only launch.
#pragma once

#include <cuda_runtime.h>

#include "operators/attention/contract.h"

namespace attention {

cudaError_t launch_full(tik_attention_args const& args);   // full sequences and chunks
cudaError_t launch_decode(tik_attention_args const& args); // one query token a sequence

// Bytes of workspace for every call within the limits.
int64_t workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits);

} // namespace attention
