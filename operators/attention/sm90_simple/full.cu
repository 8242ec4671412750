// Policy update, prefill and chunks of a prompt.
#include "attend.cuh"
#include "launch.h"

namespace attention {

cudaError_t launch_full(tik_attention_args const& args) { return launch_attend(args); }

} // namespace attention
