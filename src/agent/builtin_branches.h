// What the built-in agent makes of an audited branch: continue, merge, archive or abandon, and why.
#pragma once

#include "src/agent/builtin_knowledge.h"

namespace tik::agent {

// The decision about the audited implementation or, when that failed for the first time in its direction, about its verified
// parent. Follow-ups are not in it.
DecisionDraft judge(View const& view, Knowledge const& knowledge, Trial const& audited);

} // namespace tik::agent
