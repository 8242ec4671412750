// Any bytes as a manifest: a sentence that names the file, or a value that survives its way through a record's body.
#include <cstdint>
#include <cstdlib>

#include "src/ir/manifest_json.h"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  auto const manifest = tik::spec::parse_manifest(text, "implementation.toml");
  if (!manifest) {
    if (!manifest.error().message.starts_with("implementation.toml:")) std::abort();
    return 0;
  }
  auto const body = tik::ir::to_json(*manifest);
  auto const again = tik::ir::manifest_from_json(body, "manifest");
  if (!again || tik::ir::to_json(*again) != body) std::abort();
  return 0;
}
