// Where the parts of a search lie in its folder.
#pragma once

#include <filesystem>

#include "src/base/error.h"

namespace tik::search {

struct Layout {
  std::filesystem::path folder;
  std::filesystem::path database() const { return folder / "search.db"; }
  std::filesystem::path sources() const { return folder / "sources.git"; }
  std::filesystem::path specification() const { return folder / "spec.toml"; }
  std::filesystem::path lock() const { return folder / "lock"; }
  std::filesystem::path work() const { return folder / "work"; }
  std::filesystem::path build_cache() const { return work() / "cache"; }
  std::filesystem::path scratch() const { return work() / "scratch"; }
};

// Creates the scratch folders anew: what a killed process left there is dropped, except built libraries, which are kept by
// their hash.
Result<void> renew_work(Layout const& layout);
// Keeps the build cache from growing with the history: the oldest entries go first.
Result<void> prune_build_cache(Layout const& layout);
// Makes renames and new names in `folder` durable.
Result<void> flush_folder(std::filesystem::path const& folder);
// An empty folder at this path, whatever was there.
Result<void> renew_folder(std::filesystem::path const& folder);

} // namespace tik::search
