// Names of CUDA kernels as people read them.
#pragma once

#include <string>

namespace tik::evaluator {

// The demangled name. For an unnamed namespace nvcc writes the file's name between hashes that change with its path, as in
// _GLOBAL__N__fbf53be7_7_full_cu_cdf7b037::attend; the file's name alone is kept: full_cu::attend.
std::string kernel_name(std::string const& mangled);

} // namespace tik::evaluator
