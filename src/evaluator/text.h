// Text from compilers and candidates may be any bytes; a report is JSON and holds UTF-8.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tik::evaluator {

// The same text with every byte that is not part of valid UTF-8 replaced by U+FFFD, and NUL by U+2400.
std::string valid_utf8(std::string_view text);

// Calls `visit` with every line, without its end.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

} // namespace tik::evaluator
