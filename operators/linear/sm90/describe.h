// Plans and algorithms in words, for logs and results.
#pragma once

#include <string>

#include "operators/linear/sm90/choose.h"

namespace tik::operators::sm90 {

// "strip kernel, 24 weight rows x 64 tokens a block, 2 chunks a stage, 216 KiB of stages; 14.8 us, next of 23: 16.0 us", or an
// algorithm of the library (describe_algorithm.h) before the semicolon.
std::string describe(Choice const& choice);

} // namespace tik::operators::sm90
