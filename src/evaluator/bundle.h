// A bundle: everything that another host needs to audit candidates of a search, in one file. It holds the sealed specification,
// the incumbent, and any number of candidates.
//
//   tik-bundle 1 BYTES SHA256        one line: length and hash of the head
//   {...}                            the head, JSON: see docs/evaluation.md
//   the contents of all files, one after another, each once, in the order of the head's "contents"
//
// Files are the only thing that a bundle can hold: there is no way to write a link, a device or an absolute path into one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/source_folder.h"
#include "src/spec/specification.h"

namespace tik::evaluator {

// Bounds on what a bundle may hold.
inline constexpr std::size_t largest_bundle_bytes = std::size_t{512} << 20; // of the file, and of all its trees unpacked
inline constexpr std::size_t most_bundled_candidates = 256;

// A source tree with the name that the search has for it ("I7").
struct BundledSource {
  std::string id;
  std::string source_sha256; // hash_source_files(files)
  std::vector<SourceFile> files;
};

struct Bundle {
  spec::Specification specification;
  std::string specification_file;                     // its name, for messages
  std::map<std::string, double> baseline_us;          // the fixed baselines by workload; none when the candidate is a root
  std::string seal;                                   // spec::seal of both
  std::optional<BundledSource> incumbent;             // what the candidates are measured beside
  std::map<std::string, double> incumbent_latency_us; // its recorded latencies by workload
  std::vector<BundledSource> candidates;
};

// Whether this can name a candidate: letters and digits, at most 32. Names of files are made from it.
bool is_candidate_id(std::string_view id);

// The bytes of the file. An input error when it would be larger than a bundle may be.
Result<std::string> encode_bundle(Bundle const& bundle);

// Refuses, with a sentence that starts with `place`: what is no bundle, another schema, an evaluator or checks of another
// version, anything whose hash differs, unsafe names, too much of anything.
Result<Bundle> decode_bundle(std::string_view bytes, std::string const& place);

// Reads a bundle from a file, or from standard input for "-"; never more than a bundle may have.
Result<Bundle> read_bundle(std::filesystem::path const& file);

} // namespace tik::evaluator
