// One hostile candidate before the evaluator, and everything that must hold afterwards.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/evaluator/report.h"
#include "tests/cheat/candidate.h"

namespace tik::cheat {

struct Verdict {
  std::string outcome;               // "consistency: The worker ..."
  bool honest = false;               // the control
  bool verified = false;             // of a hostile candidate: the finding of the highest rank
  std::vector<std::string> findings; // what is not as it must be; empty: contained
  double seconds = 0;
};

// Evaluates one candidate in this process, which must not run anything else: whatever it leaves becomes a child of this
// process and is found. `builds` is a folder of built libraries, or empty.
Result<Verdict> try_candidate(Candidate const& candidate, Ground const& ground, std::filesystem::path const& builds);

// Only builds it, so that try_candidate() finds its library in `builds`. The findings say what failed.
Result<Verdict> build_candidate(Candidate const& candidate, Ground const& ground, std::filesystem::path const& builds);

evaluator::Json to_json(Verdict const& verdict);
Verdict verdict_from_json(evaluator::Json const& json);

} // namespace tik::cheat
