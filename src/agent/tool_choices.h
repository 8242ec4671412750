// Schemas that name what is there. A service that holds a small model to the schema of a call then cannot be given an id that
// does not exist.
#pragma once

#include "src/agent/agent.h"
#include "src/agent/tool.h"

namespace tik::agent {

// The tools with the ids of this state as the choices of every argument that takes ids, the newest of each kind.
std::vector<Tool> with_choices(std::vector<Tool> tools, View const& view);

} // namespace tik::agent
