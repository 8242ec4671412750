// Token-wise rollout: the same program for a group of which one row belongs to the call.
#include "attend.cuh"
#include "launch.h"

namespace attention {

cudaError_t launch_decode(tik_attention_args const& args) { return launch_attend(args); }

} // namespace attention
