// A record's links in both directions, by name: what a reader follows next.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/agent/agent.h"
#include "src/ir/any_id.h"

namespace tik::report {

using Links = std::vector<std::pair<std::string, std::vector<std::string>>>;

// "parents" -> {"I3"}, "audits" -> {"U4"}, ... in a fixed order; a link that leads nowhere is empty. An unknown id is an input
// error that says which exist.
Result<Links> links_of(agent::View const& view, ir::AnyId id);

} // namespace tik::report
