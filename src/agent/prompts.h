// The texts that models are given: prompts/*.md, built into the program.
#pragma once

#include <string_view>
#include <vector>

#include "src/base/embedded_file.h"

namespace tik::agent {

// All of them, by "prompts/NAME".
std::vector<EmbeddedFile> prompt_files();
// One by its name, "skill.md". It must be there: a missing one is a mistake of the build.
std::string_view prompt(std::string_view name);

} // namespace tik::agent
