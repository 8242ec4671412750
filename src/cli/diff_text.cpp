#include "src/cli/diff_text.h"

#include <algorithm>

namespace tik::cli {
namespace {

Paint paint_of(std::string_view line) {
  if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ")) return Paint::bold;
  if (line.starts_with("@@")) return Paint::info;
  if (line.starts_with("+")) return Paint::good;
  return line.starts_with("-") ? Paint::bad : Paint::plain;
}

} // namespace

std::string diff_text(std::string const& diff, Console const& console) {
  std::string text;
  for (std::size_t start = 0; start < diff.size();) {
    std::size_t const end = std::min(diff.find('\n', start), diff.size());
    std::string_view const line(diff.data() + start, end - start);
    text += console.paint(line, paint_of(line)) + '\n';
    start = end + 1;
  }
  return text;
}

} // namespace tik::cli
