// The kernels of this folder as host functions. attention.cu validates and dispatches; each launcher only launches. All of them
// execute the program of numerics.cuh, so which one runs never shows in the bits.
#pragma once

#include <cuda_runtime.h>

#include "operators/attention/contract.h"

namespace tik::attention::sm90 {

// Simple kernels, one warp per query row group: correct first, the check of the fast ones. Serve all three entry points.
cudaError_t launch_simple(tik_attention_args const& args);

// Full sequences and long chunks: wgmma, TMA, query rows in blocks aligned to absolute positions.
cudaError_t launch_full(tik_attention_args const& args);

// Few query tokens a sequence against a long cache: decode and the several-token step of speculative decoding.
cudaError_t launch_decode(tik_attention_args const& args);

// Bytes of workspace each needs within the limits. Counters in it are zero between calls.
int64_t full_workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits);
int64_t decode_workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits);

} // namespace tik::attention::sm90
