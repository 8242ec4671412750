// Text from compilers and candidates may be any bytes; a report is JSON and holds UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace tik::evaluator {

// The same text with every byte that is not part of valid UTF-8 replaced by U+FFFD, and NUL by U+2400.
std::string valid_utf8(std::string_view text);

} // namespace tik::evaluator
