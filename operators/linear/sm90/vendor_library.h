// cuBLASLt, found when it is first needed: a program that never calls it runs without it.
#pragma once

#include <cublasLt.h>

#include <string>

namespace tik::operators::sm90 {

// The functions of the library that dense linear calls: FUNCTION(member, symbol).
#define TIK_VENDOR_FUNCTIONS(FUNCTION)                           \
  FUNCTION(create, cublasLtCreate)                               \
  FUNCTION(version, cublasLtGetVersion)                          \
  FUNCTION(status_name, cublasLtGetStatusName)                   \
  FUNCTION(multiply, cublasLtMatmul)                             \
  FUNCTION(find_algorithms, cublasLtMatmulAlgoGetHeuristic)      \
  FUNCTION(read_algorithm, cublasLtMatmulAlgoConfigGetAttribute) \
  FUNCTION(create_operation, cublasLtMatmulDescCreate)           \
  FUNCTION(destroy_operation, cublasLtMatmulDescDestroy)         \
  FUNCTION(set_operation, cublasLtMatmulDescSetAttribute)        \
  FUNCTION(create_layout, cublasLtMatrixLayoutCreate)            \
  FUNCTION(destroy_layout, cublasLtMatrixLayoutDestroy)          \
  FUNCTION(create_preference, cublasLtMatmulPreferenceCreate)    \
  FUNCTION(destroy_preference, cublasLtMatmulPreferenceDestroy)  \
  FUNCTION(set_preference, cublasLtMatmulPreferenceSetAttribute)

struct VendorLibrary {
#define TIK_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  TIK_VENDOR_FUNCTIONS(TIK_MEMBER)
#undef TIK_MEMBER
  std::string problem; // a sentence when the library could not be loaded; empty otherwise
};

// Loads the library once: from the path in TIK_CUBLASLT when it is set, else by its name, so that the one that is loaded
// already (PyTorch's) serves, else from the CUDA toolkit's usual place.
VendorLibrary const& vendor_library();

} // namespace tik::operators::sm90
