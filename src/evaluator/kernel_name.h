// Names of CUDA kernels as people read them.
#pragma once

#include <string>

namespace tik::evaluator {

// The demangled name; what nvcc writes for an unnamed namespace of a file is left out, because it changes with the file's path.
std::string kernel_name(std::string const& mangled);

} // namespace tik::evaluator
