// What a search spent on language models, and what that bought.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/search/search.h"

namespace tik::report {

// Efficiency (paper, Q4): improvement over the starting speedup of one, per million tokens, (S - 1) / (N / 10^6). Nothing
// without tokens.
std::optional<double> efficiency(double speedup, std::int64_t tokens);
// "0.29 per million tokens".
std::string efficiency_words(double value);

// Where a search stood when the audit of a step was recorded: tokens of everything before it, lost and failed attempts too.
struct StepUsage {
  int step = 0;
  double speedup = 1;
  std::int64_t tokens = 0;
};

// The attempts to call one model for one purpose.
struct PurposeUsage {
  std::string purpose, model;
  std::int64_t attempts = 0, failed = 0, estimated = 0; // estimated: the service sent no count
  std::int64_t input_tokens = 0, output_tokens = 0;
};

struct Usage {
  std::vector<StepUsage> steps;       // one an audited offspring, in order
  std::vector<PurposeUsage> purposes; // by purpose, then model
};

// Reads the records. Empty where no model was asked.
Result<Usage> read_usage(ir::Store const& store);

} // namespace tik::report
