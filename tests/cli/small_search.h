// A search small enough for a test, with the real root implementation and the real evaluator.
#pragma once

#include "tests/cli/program.h"
#include "tests/sample_texts.h"

namespace tik::cli::test {

inline std::string small_specification() {
  return tik::test::SampleSpecification{.name = "small",
                                        .query_heads = 4,
                                        .kv_heads = 2,
                                        .full_tokens = 64,
                                        .decode_tokens = 256,
                                        .full = "layout = \"packed\"\ncache = \"warm\"\nmax_slowdown = 3.0\n",
                                        .decode = "layout = \"paged\"\npage_size = 16\ncache = \"warm\"\nmax_slowdown = 3.0\n",
                                        .checks = R"(seed = 3
prompts = [1, 19]
responses = [3]
batches = [1]
page_sizes = [16]
cuts = 1
repeats = 2
accuracy_max_error = 0.02
lse_max_error = 0.01
accuracy_distributions = ["normal"]
)",
                                        .rest = R"([measurement]
rounds = 3
max_rounds = 3
warmup = 1
min_round_us = 50

[stopping]
patience = 30
)"}
      .text();
}

inline std::string cpu_root() { return std::string(TIK_SOURCE_DIR) + "/operators/attention/cpu"; }

// Makes DIR with its root audited; a test that cannot begin fails here.
inline void make_small_search(TemporaryFolder const& folder, std::string const& search) {
  spill(folder / "spec.toml", small_specification());
  Outcome const outcome = tik({"new", search, "--spec", folder / "spec.toml", "--root", cpu_root()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
}

} // namespace tik::cli::test
