#include "src/cli/operators_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "operators/library.h"
#include "src/base/symbols.h"

namespace tik::cli {
namespace {

Result<void> same_version(std::filesystem::path const& file, std::string_view what, int found, int wanted) {
  if (found == wanted) return {};
  return input_error(
      fmt::format("{}: its contract of {} has version {}, but this program was built for {}. Use the library of "
                  "the same release.",
                  file.string(), what, found, wanted));
}

} // namespace

Result<OperatorsLibrary> load_operators(std::filesystem::path const& file) {
  std::error_code ignored;
  // A name without a slash would be searched among the system's libraries.
  void* const handle = dlopen(std::filesystem::absolute(file, ignored).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    char const* const reason = dlerror();
    return input_error(fmt::format("{}: cannot be loaded: {}.", file.string(), reason ? reason : "no reason is given"));
  }
  OperatorsLibrary library;
  library.file = file;
  Symbols symbols(handle);
  decltype(&tik_operators_backend) backend = nullptr;
  decltype(&tik_operators_abi_version) operators_version = nullptr;
  decltype(&tik_attention_abi_version) attention_version = nullptr;
  symbols.find(backend, "tik_operators_backend");
  symbols.find(operators_version, "tik_operators_abi_version");
  symbols.find(library.functions.last_error, "tik_operators_last_error");
#define TIK_FIND(name) symbols.find(library.functions.name, "tik_" #name);
  TIK_OPERATOR_FUNCTIONS(TIK_FIND)
#undef TIK_FIND
  symbols.find(attention_version, "tik_attention_abi_version");
  symbols.find(library.attention.full, "tik_attention_full");
  symbols.find(library.attention.extend, "tik_attention_extend");
  symbols.find(library.attention.decode, "tik_attention_decode");
  symbols.find(library.attention.workspace_bytes, "tik_attention_workspace_bytes");
  symbols.find(library.attention.last_error, "tik_attention_last_error");
  if (!symbols.missing().empty()) {
    return input_error(
        fmt::format("{}: does not export {}: name a libtik_operators_cpu.so or libtik_operators_sm90.so of this release.",
                    file.string(), symbols.missing()));
  }
  TIK_CHECK(same_version(file, "operators", operators_version(), TIK_OPERATORS_ABI_VERSION));
  TIK_CHECK(same_version(file, "attention", attention_version(), TIK_ATTENTION_ABI_VERSION));
  library.backend = backend();
  return library;
}

std::optional<std::filesystem::path> find_operators(std::string_view name) {
  std::error_code failed;
  std::filesystem::path const folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return std::nullopt;
  for (std::filesystem::path const& place : {folder / name, folder.parent_path() / "lib" / name}) {
    if (std::filesystem::exists(place, failed)) return place;
  }
  return std::nullopt;
}

} // namespace tik::cli
