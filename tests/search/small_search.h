// A real search that is small enough for tests: the CPU attention under a specification with two short workloads. Its root is
// audited once for a whole test program, and every test gets a copy of that search's folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "src/base/files.h"
#include "src/search/search.h"
#include "tests/temporary_folder.h"

namespace tik::search::test {

// The specification of the tests that drive a search from outside, with limits fit for many tests at a time.
inline std::string small_specification() {
  auto text = read_file(std::filesystem::path(TIK_SOURCE_DIR) / "tests/serve/spec.toml");
  EXPECT_TRUE(text) << text.error().message;
  return *text + R"(
[limits.build]
seconds = 120
memory_mb = 2048
log_kb = 256
processes = 32
file_mb = 64

[limits.run]
seconds = 120
memory_mb = 2048
log_kb = 64
)";
}

inline std::filesystem::path root_implementation() { return std::filesystem::path(TIK_SOURCE_DIR) / "operators/attention/cpu"; }

using tik::test::TemporaryFolder;

inline std::filesystem::path write_specification(std::filesystem::path const& folder,
                                                 std::string const& text = small_specification()) {
  std::filesystem::path const file = folder / "spec.toml";
  EXPECT_TRUE(write_file(file, text));
  return file;
}

class SmallSearch : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (original_) return;
    original_ = std::make_unique<TemporaryFolder>();
    auto const created = Search::create(original_->path() / "search", write_specification(original_->path()),
                                        root_implementation(), nullptr, nullptr);
    ASSERT_TRUE(created) << created.error().message;
  }
  void SetUp() override {
    ASSERT_TRUE(original_ && std::filesystem::exists(original_->path() / "search" / "search.db"));
    std::filesystem::copy(original_->path() / "search", folder(), std::filesystem::copy_options::recursive);
  }

  std::filesystem::path folder() const { return temporary_.path() / "search"; }
  Search open(Search::Mode mode = Search::Mode::write) const {
    auto search = Search::open(folder(), mode);
    EXPECT_TRUE(search) << search.error().message;
    return std::move(*search);
  }

  TemporaryFolder temporary_;

 private:
  static inline std::unique_ptr<TemporaryFolder> original_;
};

} // namespace tik::search::test
