// Checks everything that the records and the sources of a search promise, also when some of it is damaged.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik::ir {

struct Finding {
  std::string place;    // "I7", "search.db", "sources.git"
  std::string sentence; // what is off there
  // Nothing is damaged: the search was sealed under another version of the checks, and can be read but not gone on with.
  bool other_checks = false;
};

struct Verification {
  std::vector<Finding> findings; // empty: all is as it was written
  std::int64_t records = 0, readable_records = 0;
  std::int64_t commits = 0, readable_commits = 0;
};

// Reads the database and the repository without changing them. Checked are:
// - the database: its pages (integrity_check), its rules, its foreign keys;
// - the journal: consecutive, each entry under a hash that covers the one before, each body read back by its type;
// - the columns and links: they say what the bodies say, and nothing more is there;
// - the seal: it is the hash of the specification and the root's latencies; every audit carries it and its implementation's
// source hash;
// - the commits: each is there with every object, its parents are those of the record, its files have the recorded hash and
// manifest, and
//   refs/tik/ID points at it.
// An Error means that there is nothing to check (no such file).
Result<Verification> verify(std::filesystem::path const& database, std::filesystem::path const& sources);

} // namespace tik::ir
