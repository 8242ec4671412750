// The words of actions, decisions and opportunities that a person or a script writes, read with every check that a key needs.
// Whether the rules allow what they say is decided by the search.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/agent/agent.h"
#include "src/agent/opportunity_words.h"

namespace tik::cli {

// The text of a fresh action file for an opportunity and its parents, with every key explained.
std::string action_template(ir::Opportunity const& opportunity, std::vector<ir::ImplementationId> const& parents,
                            spec::Specification const& specification);

// Reads an action file that was filled in. The error is one sentence that starts with "FILE:LINE:".
Result<agent::ActionDraft> read_action(std::filesystem::path const& file);

// Reads a decision file: [[decisions]] with [[decisions.follow_ups]], and [[withdrawals]].
Result<agent::ManagementDraft> read_decisions(std::filesystem::path const& file);

} // namespace tik::cli
