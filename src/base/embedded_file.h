// A text file that was built into the program.
#pragma once

#include <string_view>

namespace tik {

struct EmbeddedFile {
  std::string_view path; // below the root that the build named
  std::string_view content;
};

} // namespace tik
