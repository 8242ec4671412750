// The built-in agent: it works from the tunable constants and rewrites that the root's manifest declares and from what audits
// have shown. docs/builtin-agent.md says how it decides.
#pragma once

#include <cstdint>
#include <memory>

#include "src/agent/agent.h"

namespace tik::agent {

// Deterministic given the seed, the records and the measurements in them: it knows nothing that is not in the View, so a search
// that was stopped and resumed goes on as if it had not been. One object serves one search.
std::unique_ptr<Agent> make_builtin_agent(std::uint64_t seed);

} // namespace tik::agent
