// `tik` can be copied to a host that has the C and C++ libraries of its system and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "src/base/sanitized.h"

namespace tik::cli::test {
namespace {

// The NEEDED entries of the program's dynamic section, as objdump prints them.
std::set<std::string> needed_libraries() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(popen("objdump -p " TIK_BINARY, "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer;
  while (std::size_t const count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) text.append(buffer.data(), count);
  std::istringstream words(text);
  std::set<std::string> libraries;
  for (std::string word; words >> word;) {
    if (word == "NEEDED" && words >> word) libraries.insert(word);
  }
  return libraries;
}

TEST(PortableTest, NeedsOnlyTheCAndCppLibraries) {
#if TIK_SANITIZED
  GTEST_SKIP() << "a sanitized program needs its sanitizer";
#endif
  std::set<std::string> const libraries = needed_libraries();
  EXPECT_TRUE(libraries.contains("libc.so.6"));
  std::set<std::string> const allowed = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"};
  for (std::string const& library : libraries) EXPECT_TRUE(allowed.contains(library)) << library;
}

} // namespace
} // namespace tik::cli::test
