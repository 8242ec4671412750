// What the built-in agent expects of a move, before an audit says what is true.
#pragma once

#include "src/agent/builtin_knowledge.h"

namespace tik::agent {

// A change that may be audited: one implementation and one move, or two implementations to be merged.
struct Candidate {
  ir::ImplementationId base;
  std::optional<ir::ImplementationId> other; // merged into base
  std::vector<Move> moves;                   // what base gains
};

struct Estimate {
  double total_us = 0;                      // expected T
  std::map<std::string, double> latency_us; // expected, by workload
  double value = 0;                         // what is hoped for, in natural logarithms of T; higher is tried first
  int observations = 0;                     // audits that measured these moves before
  std::string grounds;                      // in words
};

// Expected latencies are those of the base, times what each move did wherever it was measured (nearer configurations count
// more), times a prior from the manifest and the base's evidence. `value` adds what the move would make possible, and takes off
// for risk.
Estimate estimate(View const& view, Knowledge const& knowledge, Candidate const& candidate);

// Whether `last` was meant to make `next` possible: by what the manifest says one enables or the other requires.
bool leads_to(spec::Manifest const& manifest, Move const& last, Move const& next);

// Why a move is not tried (again) on this base, in words; nothing when it may be.
std::optional<std::string> ruled_out(Knowledge const& knowledge, Trial const& base, Move const& move);

} // namespace tik::agent
