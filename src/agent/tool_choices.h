// Schemas that name what is there. A service that holds a small model to the schema of a call then cannot be given an id that
// does not exist, a file that the draft has not, or a status that the rules refuse.
#pragma once

#include "src/agent/agent.h"
#include "src/agent/tool.h"

namespace tik::agent {

// What there is beside the state.
struct Inventory {
  std::vector<std::string> draft_files, readable_files; // none of the draft's without a draft
  std::vector<std::string> changes, variants;           // that the draft's manifest declares
  std::int64_t decisions = 0;                           // lineage decisions on record
};

// The tools with the ids of this state as the choices of every argument that takes ids, the newest of each kind, the statuses
// that a decision may give now, the files of the draft as those that can be edited, and the ways of an edit apart, as
// alternatives (anyOf).
std::vector<Tool> with_choices(std::vector<Tool> tools, View const& view, Inventory const& inventory);

// Bounds free texts so that a whole call fits into an answer of so many tokens: each that a call needs has an equal share.
void fit_answer(std::vector<Tool>& tools, std::int64_t answer_tokens);
// What is left out after an answer was cut off all the same: arguments that a call does not need, and all but one object of a
// list.
void abridge(std::vector<Tool>& tools);

} // namespace tik::agent
