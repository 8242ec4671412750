// The libraries under test: the root, implementations made from it by moves of its manifest, and two that are broken on
// purpose.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "operators/attention/contract.h"

namespace tik::attention::testing {

struct Library {
  decltype(&tik_attention_full) full, extend, decode;
  decltype(&tik_attention_workspace_bytes) workspace_bytes;
  decltype(&tik_attention_abi_version) abi_version;
  decltype(&tik_attention_last_error) last_error;
};

// `name` is a library of libraries.cmake: "root", "fast", "mixed", "wider_decode", "newest_first", "coarse".
inline Library load_library(std::string const& name) {
  std::string const file = TIK_ATTENTION_LIBRARIES "/libtik_attention_cpu" + (name == "root" ? "" : "_" + name) + ".so";
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  auto const find = [&](auto& function, char const* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
    if (function == nullptr) throw std::runtime_error(file + " has no " + symbol);
  };
  Library library{};
  find(library.full, "tik_attention_full");
  find(library.extend, "tik_attention_extend");
  find(library.decode, "tik_attention_decode");
  find(library.workspace_bytes, "tik_attention_workspace_bytes");
  find(library.abi_version, "tik_attention_abi_version");
  find(library.last_error, "tik_attention_last_error");
  return library;
}

} // namespace tik::attention::testing
