// Schemas that name what is there. A service that holds a small model to the schema of a call then cannot be given an id that
// does not exist, a file that the draft has not, or a status that the rules refuse.
#pragma once

#include "src/agent/agent.h"
#include "src/agent/tool.h"

namespace tik::agent {

// The tools with the ids of this state as the choices of every argument that takes ids, the newest of each kind, the statuses
// that a decision may give now, the files of the draft (none without a draft) as those that can be edited, and the ways of an
// edit apart, as alternatives (anyOf).
std::vector<Tool> with_choices(std::vector<Tool> tools, View const& view, std::vector<std::string> const& draft_files);

} // namespace tik::agent
