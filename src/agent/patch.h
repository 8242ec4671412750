// Edits of a source tree in memory: each applies exactly, or is refused with the place and the reason.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/base/error.h"

namespace tik::agent {

using Contents = std::map<std::string, std::string>;
// What becomes of a file; nothing: it is removed.
using Changes = std::map<std::string, std::optional<std::string>>;

// The text with `find`, which must be there exactly once, replaced. `name` stands in front of the sentence.
Result<std::string> replace_once(std::string const& name, std::string const& text, std::string const& find,
                                 std::string const& replace);

// A unified diff of one or more files. A hunk applies where its lines stand: at the line it names, or else at the only place
// where they are; counts in its header are not believed. Names may start with a/ and b/; /dev/null adds or removes a file.
Result<Changes> apply_patch(Contents const& tree, std::string const& patch);

} // namespace tik::agent
