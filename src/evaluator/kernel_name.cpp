#include "src/evaluator/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "src/evaluator/text.h"

namespace tik::evaluator {

std::string kernel_name(std::string const& mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 && text != nullptr ? std::string(text.get()) : mangled;
  constexpr char unnamed[] = "_GLOBAL__N__";
  for (std::size_t at = 0; (at = name.find(unnamed, at)) != std::string::npos;) {
    std::size_t const end = name.find("::", at);
    if (end == std::string::npos) break;
    name.erase(at, end + 2 - at);
  }
  constexpr char anonymous[] = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = name.find(anonymous, at)) != std::string::npos;) name.erase(at, sizeof anonymous - 1);
  return valid_utf8(name);
}

} // namespace tik::evaluator
