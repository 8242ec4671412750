// An evaluator report as text for a person.
#pragma once

#include <string>

#include "src/cli/console.h"
#include "src/evaluator/report.h"

namespace tik::cli {

// Verdict, stages, details of the failed one, latencies by workload, evidence in summary, protections.
std::string report_text(evaluator::Report const& report, Console const& console);

// "consistency failed: token 7 differs", without a full stop; empty when nothing failed.
std::string failure_text(evaluator::Report const& report);

// Two reports side by side: outcomes, latencies, and every evidence value that differs. The names head the columns.
std::string comparison_text(std::string const& left_name, evaluator::Report const& left, std::string const& right_name,
                            evaluator::Report const& right, Console const& console);

} // namespace tik::cli
