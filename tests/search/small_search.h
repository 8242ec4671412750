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

inline constexpr char const* small_specification = R"(
schema = 1
name = "small"
operator = "attention"
target = "cpu"

[shape]
query_heads = 2
kv_heads = 1
head_dim = 64

[[workloads]]
id = "full-32"
entry_point = "full"
batch = 1
tokens = 32
layout = "packed"
cache = "warm"
max_slowdown = 4.0

[[workloads]]
id = "decode-96"
entry_point = "decode"
batch = 1
tokens = 96
layout = "contiguous"
cache = "warm"
max_slowdown = 4.0

[checks]
seed = 7
prompts = [1, 40]
responses = [2]
batches = [1]
page_sizes = [16]
query_heads_per_kv = [2]
cuts = 1
repeats = 1
accuracy_max_error = 0.02
lse_max_error = 0.01
accuracy_distributions = ["normal"]

[measurement]
rounds = 3
max_rounds = 3
warmup = 1
pin_cpu = false
min_round_us = 50

[stopping]
patience = 30

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

inline std::filesystem::path root_implementation() { return std::filesystem::path(TIK_SOURCE_DIR) / "operators/attention/cpu"; }

using tik::test::TemporaryFolder;

inline std::filesystem::path write_specification(std::filesystem::path const& folder,
                                                 std::string const& text = small_specification) {
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
