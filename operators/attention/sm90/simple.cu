// The simple kernel, the check of the fast ones: the root of the search for Hopper (../sm90_simple) as a part of this library.
// A search's root is complete by itself, so it has a copy of the canonical arithmetic; the GPU suite compares the bits of this
// kernel with those of every fast one, so that the copies cannot drift apart unseen.
#include "operators/attention/sm90/launch.h"
#include "operators/attention/sm90_simple/attend.cuh"

namespace tik::attention::sm90 {

cudaError_t launch_simple(tik_attention_args const& args) { return ::attention::launch_attend(args); }

} // namespace tik::attention::sm90
