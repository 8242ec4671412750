// A whole search as two files: records.jsonl and sources.bundle. docs/commands.md describes the format.
#pragma once

#include <filesystem>
#include <vector>

#include "src/ir/store.h"

namespace tik::cli {

inline constexpr std::string_view transfer_format = "tik-export";
inline constexpr int transfer_schema = 1;
inline constexpr std::string_view records_file = "records.jsonl", bundle_file = "sources.bundle";

struct Transfer {
  ir::SearchIdentity identity;
  std::vector<ir::JournalEntry> entries; // in order
};

// The lines of records.jsonl, for a bundle with the given hash.
std::string transfer_text(Transfer const& transfer, std::string const& bundle_sha256);

// Reads both files of an export. Every line is checked, the last one against the lines before it and against the bundle. Errors
// name file and line.
Result<Transfer> read_transfer(std::filesystem::path const& folder);

// Appends the entries to a new store, each under its own rules, with the ids, times and hashes that the entries have. An entry
// that the store would not have written is an error that names it.
Result<void> restore_records(ir::Store& store, Transfer const& transfer);

} // namespace tik::cli
