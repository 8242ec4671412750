// The reports that another host made of a bundle's candidates, and whether they are about what was asked.
//
//   DIR/I7.json      the report of candidate I7, as `tik evaluate --json` prints it
//   DIR/index.json   which reports there are, with their hashes; written last
#pragma once

#include <filesystem>

#include "src/evaluator/bundle.h"
#include "src/evaluator/report.h"

namespace tik::evaluator {

struct HostReport {
  std::string id; // the candidate's
  Report report;
};

// What a report must be about to count.
struct Expected {
  std::string seal, source_sha256;
  // Source hashes of what it may have been measured beside, with the recorded latencies by workload; none for a root, which is
  // measured alone.
  std::map<std::string, std::map<std::string, double>> incumbents;
};

// Refuses a report about another specification, another source, another incumbent, by an evaluator of another version, or one
// whose latencies are not what follows from its own samples and the incumbent's recorded latencies.
Result<void> answers(HostReport const& entry, Expected const& expected, spec::Specification const& specification);
// What a report on this candidate of the bundle must be about.
Expected expected_of(Bundle const& bundle, BundledSource const& candidate);

std::filesystem::path report_file(std::filesystem::path const& folder, std::string const& id);

// One report, whole or not at all.
Result<void> write_report(std::filesystem::path const& folder, HostReport const& entry);
// The index over the reports that are there; `incumbent` may be empty.
Result<void> write_index(std::filesystem::path const& folder, Bundle const& bundle, std::vector<HostReport> const& reports);

// One JSON document with all reports inside, for a caller that reads standard output.
Json to_json(Bundle const& bundle, std::vector<HostReport> const& reports);
// Reads such a document; the sentence of an error starts with `place`.
Result<std::vector<HostReport>> host_reports_from(Json const& json, std::string const& place);

// Reads what the index lists. Every file is checked against its hash.
Result<std::vector<HostReport>> read_reports(std::filesystem::path const& folder);

} // namespace tik::evaluator
