// The report of a search: one Markdown file and three SVG plots, drawn from the records alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/report/attempt.h"
#include "src/report/plots.h"
#include "src/search/search.h"

namespace tik::report {

// Everything the report is written from, read once.
struct History {
  spec::Specification specification;
  ir::SearchIdentity identity;
  search::State state;
  std::vector<Attempt> attempts; // the root, then the audited offspring in order of their first audits, then the unaudited ones
  std::vector<ir::Opportunity> opportunities;
  std::vector<ir::LineageDecision> decisions;
  std::optional<evaluator::Report> root_report, best_report;
  std::map<ir::OpportunityId, std::string> withdrawals; // reasons
  Usage usage;                                          // of language models
};

// Reads the records of a search.
Result<History> read_history(search::Search const& search);

// Root baseline, incumbent's latency and limit of every workload that both have.
std::vector<WorkloadPair> workload_pairs(History const& history);

// The report's text; the plots are referred to as speedup.svg, latency.svg and lineage.svg beside it.
std::string markdown_report(History const& history);

// Writes report.md, speedup.svg, latency.svg, lineage.svg and, where a model was asked, efficiency.svg into `folder`, which is
// created where absent. Returns the path of report.md.
Result<std::filesystem::path> write_report(History const& history, std::filesystem::path const& folder);

} // namespace tik::report
