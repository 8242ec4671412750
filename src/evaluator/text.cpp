#include "src/evaluator/text.h"

#include <cstdint>

namespace tik::evaluator {
namespace {

// Length of the well-formed sequence at the front; 0 when there is none (Unicode, table 3-7).
std::size_t sequence_length(std::string_view text) {
  auto const at = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0}; };
  auto const within = [&](std::size_t i, int low, int high) { return at(i) >= low && at(i) <= high; };
  std::uint8_t const first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    int const low = first == 0xE0 ? 0xA0 : 0x80;
    int const high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    int const low = first == 0xF0 ? 0x90 : 0x80;
    int const high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

} // namespace

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t const length = sequence_length(text);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else if (text[0] == '\0') {
      result += "\xE2\x90\x80";
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

} // namespace tik::evaluator
