// What an audit's evidence says about where an implementation loses time, in the words that a manifest's moves use (`helps`).
#pragma once

#include <map>
#include <string>

#include "src/evaluator/report.h"

namespace tik::agent {

struct Symptom {
  double strength = 0; // 0: the evidence speaks against it, 1: as strong as it gets
  std::string note;    // the numbers, in words
};

// By word: "not-vectorized", "scalar-arithmetic", "many-calls", "many-loads", "many-stores", "many-conversions". A word is
// absent when the evidence that would show it is not available.
using Symptoms = std::map<std::string, Symptom>;
Symptoms symptoms_of(evaluator::Report const& report);

} // namespace tik::agent
