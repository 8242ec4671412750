// The functions of a library that is loaded while the program runs.
#pragma once

#include <dlfcn.h>

#include <string>

namespace tik {

// Fills function pointers from a loaded library and remembers the first name that is not there.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <class Function>
  void find(Function& function, char const* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  std::string const& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

} // namespace tik
