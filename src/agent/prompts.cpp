#include "src/agent/prompts.h"

#include <stdexcept>
#include <string>

namespace tik::agent {

std::string_view prompt(std::string_view name) {
  for (EmbeddedFile const& file : prompt_files())
    if (file.path == "prompts/" + std::string(name)) return file.content;
  throw std::logic_error("no prompt " + std::string(name) + " was built in");
}

} // namespace tik::agent
