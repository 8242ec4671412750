#include "src/evaluator/loaded_library.h"

#include <dlfcn.h>

#include <cstring>

namespace tik::evaluator {
namespace {

// A function of the system that the library brings along in its own version: it has no effect here, and no good purpose.
char const* exported_system_symbol(void* library, void* own_function) {
  Dl_info own{}, other{};
  if (dladdr(own_function, &own) == 0) return nullptr;
  for (char const* name : {"clock_gettime", "clock", "gettimeofday", "time", "times", "getrusage", "send", "recv"}) {
    void* const symbol = dlsym(library, name);
    if (symbol != nullptr && dladdr(symbol, &other) != 0 && other.dli_fbase == own.dli_fbase) return name;
  }
  return nullptr;
}

std::string text_of(char const* text) { return text == nullptr ? std::string() : std::string(text, strnlen(text, 2048)); }

} // namespace

Reply LoadedLibrary::load(LoadRequest const& request) {
  void* const library = dlopen(request.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return LoadFailedReply{text_of(dlerror())};
  std::array<void*, 5> found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = dlsym(library, request.symbols[i].c_str());
    if (found[i] == nullptr) return LoadFailedReply{"the symbol " + request.symbols[i] + " is not exported"};
  }
  if (char const* const taken = exported_system_symbol(library, found[4])) {
    return LoadFailedReply{std::string("it exports ") + taken + ", which belongs to the system"};
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i] = reinterpret_cast<Entry>(found[i]);
  workspace_ = reinterpret_cast<decltype(workspace_)>(found[3]);
  last_error_ = reinterpret_cast<decltype(last_error_)>(dlsym(library, "tik_attention_last_error"));
  return LoadedReply{reinterpret_cast<int32_t (*)()>(found[4])()};
}

Reply LoadedLibrary::workspace(WorkspaceRequest const& request) const {
  if (workspace_ == nullptr) return LoadFailedReply{"nothing is loaded"};
  return WorkspaceReply{workspace_(&request.shape, &request.limits)};
}

std::string LoadedLibrary::last_error() const { return last_error_ == nullptr ? std::string() : text_of(last_error_()); }

} // namespace tik::evaluator
