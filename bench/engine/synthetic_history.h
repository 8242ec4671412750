// Writes a search with a long history at once: records, commits and names as a real search leaves them, under the same rules,
// so that every command works on it and `tik verify` finds nothing. Only the reports are invented; nothing was built or
// measured.
#pragma once

#include <cstdint>
#include <filesystem>

#include "src/base/error.h"

namespace tik::bench {

struct SyntheticHistory {
  int implementations = 10000; // the root included
  std::uint64_t seed = 1;
  std::filesystem::path specification; // a spec.toml whose `root` names an implementation
};

// What was written.
struct SyntheticCounts {
  std::int64_t records = 0, promotions = 0, failures = 0, merges = 0;
};

// Writes the search into `folder`, which must not exist. The same arguments give the same records, apart from times and commit
// ids.
Result<SyntheticCounts> write_synthetic_history(std::filesystem::path const& folder, SyntheticHistory const& history);

} // namespace tik::bench
