#include "src/evaluator/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "src/evaluator/text.h"

namespace tik::evaluator {

namespace {

// The file's name in _GLOBAL__N__HASH_LENGTH_FILE_HASH; empty when there is none.
std::string file_of_unnamed_namespace(std::string_view mangled) {
  constexpr std::string_view unnamed = "_GLOBAL__N__";
  constexpr std::size_t hash = 9; // eight digits and an underscore
  std::size_t const at = mangled.find(unnamed);
  if (at == std::string_view::npos || mangled.size() < at + unnamed.size() + hash) return {};
  std::string_view rest = mangled.substr(at + unnamed.size() + hash);
  std::size_t length = 0, digits = 0;
  while (digits < rest.size() && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9') {
    length = 10 * length + static_cast<std::size_t>(rest[digits++] - '0');
  }
  if (digits == 0 || rest.size() < digits + 1 + length) return {};
  return std::string(rest.substr(digits + 1, length));
}

} // namespace

std::string kernel_name(std::string const& mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return valid_utf8(mangled);
  std::string name = text.get();
  std::string const file = file_of_unnamed_namespace(mangled);
  constexpr std::string_view anonymous = "(anonymous namespace)";
  for (std::size_t at = 0; !file.empty() && (at = name.find(anonymous, at)) != std::string::npos; at += file.size()) {
    name.replace(at, anonymous.size(), file);
  }
  return valid_utf8(name);
}

} // namespace tik::evaluator
