// Any bytes as a specification: a value or a sentence that names the file, never a crash.
#include <cstdint>
#include <cstdlib>

#include "src/spec/specification.h"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text(reinterpret_cast<char const*>(data), size);
  auto const result = tik::spec::parse_specification(text, "spec.toml");
  if (result && result->text != text) std::abort();
  if (!result && !result.error().message.starts_with("spec.toml:")) std::abort();
  return 0;
}
