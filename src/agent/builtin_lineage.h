// How the built-in agent reads an audit: what becomes of the branch, what to try next, what to give up.
#pragma once

#include "src/agent/builtin_estimate.h"

namespace tik::agent {

// In the first steps the root's own opportunities are tried and kept, so that their effects are known apart.
inline constexpr int opening_steps = 3;

// The candidate that a pending opportunity stands for, on the implementations that are still active; nothing when there is none
// left or when its notes are not this agent's.
std::optional<Candidate> candidate_of(View const& view, Knowledge const& knowledge, ir::Opportunity const& opportunity);

// All decisions on one audit, with follow-ups and withdrawals.
Result<ManagementDraft> manage_lineage(View const& view, Knowledge const& knowledge, ir::ImplementationId audited);

} // namespace tik::agent
