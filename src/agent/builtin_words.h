// The sentences of the built-in agent's records.
#pragma once

#include "src/agent/builtin_estimate.h"

namespace tik::agent {

// What an audit says about its implementation against its first parent: outcome, T, the workloads that moved most, the noise.
std::string interpretation(View const& view, Knowledge const& knowledge, Trial const& trial);
// "-12.3%": b against a.
std::string change_in_words(double a, double b);
// The workloads that any of these moves touches.
std::vector<std::string> touched_workloads(View const& view, Knowledge const& knowledge, std::vector<Move> const& moves);
std::vector<spec::EntryPoint> touched_entry_points(Knowledge const& knowledge, std::vector<Move> const& moves);

// An opportunity as a record: mechanism and evidence in words, the candidate in the notes.
ir::Opportunity describe(View const& view, Knowledge const& knowledge, Candidate const& candidate, Estimate const& expected,
                         ir::Opportunity::Kind kind);
// The words of an action that takes it.
ActionDraft describe_action(View const& view, Knowledge const& knowledge, Candidate const& candidate, Estimate const& expected,
                            ir::Opportunity const& opportunity);

} // namespace tik::agent
