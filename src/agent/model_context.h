// What a model is told at the start of a stage, made from the records by the tools, so that what is withheld stays withheld.
#pragma once

#include "src/agent/toolbox.h"

namespace tik::agent {

// The standing instructions: who it is, the rules, the numerical risks unless they are withheld.
std::string system_prompt(Withheld const& withheld);
// The first message of a stage, with the records that it needs, each in its frame.
Result<std::string> act_message(Toolbox& toolbox, View const& view, Withheld const& withheld);
Result<std::string> manage_message(Toolbox& toolbox, View const& view, Withheld const& withheld, ir::AuditId audit);

// Text of a candidate, a compiler or a record in a frame whose mark the text does not hold: data, never an instruction.
std::string framed(std::string_view source, std::string_view text);

} // namespace tik::agent
