#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>

#include "operators/linear/sm90/vendor_library.h"

#define TIK_TEXT_OF(x) #x
#define TIK_TEXT(x) TIK_TEXT_OF(x)

namespace tik::operators::sm90 {
namespace {

constexpr char const* library_name = "libcublasLt.so." TIK_TEXT(CUBLAS_VER_MAJOR);
constexpr char const* toolkit_path = "/usr/local/cuda/lib64/libcublasLt.so." TIK_TEXT(CUBLAS_VER_MAJOR);

void* open_library(std::string& problem) {
  if (char const* const path = std::getenv("TIK_CUBLASLT")) {
    if (void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
    problem = std::string("cuBLASLt could not be loaded from TIK_CUBLASLT: ") + dlerror() + ".";
    return nullptr;
  }
  for (char const* const path : {library_name, toolkit_path}) {
    if (void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  problem = std::string("cuBLASLt could not be loaded: ") + library_name + " is neither where the loader looks nor at " +
            toolkit_path + ". Install the CUDA toolkit's cuBLAS or name the file in TIK_CUBLASLT.";
  return nullptr;
}

VendorLibrary load() {
  VendorLibrary functions;
  void* const library = open_library(functions.problem);
  if (library == nullptr) return functions;
#define TIK_LOAD(member, symbol)                                                   \
  functions.member = reinterpret_cast<decltype(&symbol)>(dlsym(library, #symbol)); \
  if (functions.member == nullptr) functions.problem = "cuBLASLt lacks the function " #symbol ": install another version.";
  TIK_VENDOR_FUNCTIONS(TIK_LOAD)
#undef TIK_LOAD
  return functions;
}

} // namespace

VendorLibrary const& vendor_library() {
  static VendorLibrary const library = load();
  return library;
}

} // namespace tik::operators::sm90
