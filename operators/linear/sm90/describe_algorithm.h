// An algorithm of cuBLASLt in words.
#pragma once

#include <string>

#include "operators/linear/sm90/vendor_library.h"

namespace tik::operators::sm90 {

// "cuBLASLt algorithm 66, tile 128x256, stages 64xAUTO, cluster 2x1x1, inner shape 0, split-K 1, reduction 0, swizzling 0,
// option 5"
std::string describe(cublasLtMatmulAlgo_t const& algorithm);

} // namespace tik::operators::sm90
