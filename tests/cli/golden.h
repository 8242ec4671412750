// Golden files: formats that people and programs rely on. TIK_UPDATE_GOLDEN=1 rewrites them; the change is then reviewed as a
// diff.
#pragma once

#include "tests/cli/program.h"

namespace tik::cli::test {

// Every occurrence of `what` replaced: for what differs from machine to machine.
inline std::string replaced(std::string text, std::string const& what, std::string const& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

inline void expect_golden(std::string const& text, std::string const& name) {
  std::filesystem::path const file = std::filesystem::path(TIK_SOURCE_DIR) / "tests/cli/golden" / name;
  if (std::getenv("TIK_UPDATE_GOLDEN")) spill(file, text);
  EXPECT_EQ(text, slurp(file)) << "TIK_UPDATE_GOLDEN=1 rewrites " << file;
}

} // namespace tik::cli::test
