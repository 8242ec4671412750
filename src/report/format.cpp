#include "src/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tik::report {
namespace {

std::string pad(std::string const& cell, std::size_t columns, char alignment) {
  std::string const space(columns - std::min(columns, width(cell)), ' ');
  return alignment == 'r' ? space + cell : cell + space;
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

} // namespace

std::string latency(double us) {
  static constexpr std::array<std::string_view, 3> units = {"us", "ms", "s"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::fabs(us) >= 999.5) {
    us /= 1000;
    ++unit;
  }
  double const size = std::fabs(us);
  int const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", us, decimals, units[unit]);
}

std::string ratio(double value) { return fmt::format("{:.2f}x", value); }

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string join(std::vector<std::string> const& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string one_line(std::string_view text, std::size_t columns) {
  std::string line;
  for (char const byte : text) {
    bool const space = byte == '\n' || byte == '\r' || byte == '\t' || byte == ' ';
    if (space && (line.empty() || line.back() == ' ')) continue;
    line += space ? ' ' : byte;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (columns == 0 || width(line) <= columns) return line;
  std::size_t bytes = 0, seen = 0;
  for (; bytes < line.size(); ++bytes)
    if (starts_character(line[bytes]) && ++seen > columns - std::min<std::size_t>(columns, 1)) break;
  return line.substr(0, bytes) + (columns > 0 ? "\u2026" : "");
}

std::string wrap(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string const line = one_line(text, 0);
  std::string result;
  std::size_t used = 0;
  for (std::size_t start = 0; start < line.size();) {
    std::size_t const end = std::min(line.find(' ', start), line.size());
    std::string const word = line.substr(start, end - start);
    if (used > 0 && used + 1 + width(word) > columns) {
      result += '\n' + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      result += ' ';
      ++used;
    }
    result += word;
    used += width(word);
    start = end + 1;
  }
  return result;
}

std::string text_table(std::vector<std::vector<std::string>> const& rows, std::string_view alignment) {
  std::vector<std::size_t> columns(alignment.size(), 0);
  for (auto const& row : rows)
    for (std::size_t i = 0; i < row.size() && i < columns.size(); ++i) columns[i] = std::max(columns[i], width(row[i]));
  std::string text;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < columns.size(); ++i)
      line += (i > 0 ? "  " : "") + pad(row[i], columns[i], alignment[i]);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + '\n';
  }
  return text;
}

std::string markdown_escape(std::string_view text) {
  std::string escaped;
  for (char const byte : one_line(text, 0)) {
    if (std::string_view("\\`*_{}[]<>#|").find(byte) != std::string_view::npos) escaped += '\\';
    escaped += byte;
  }
  return escaped;
}

std::string markdown_table(std::vector<std::vector<std::string>> const& rows, std::string_view alignment) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::string const& cell : rows[i]) text += "| " + (i == 0 ? cell : markdown_escape(cell)) + ' ';
    text += "|\n";
    if (i > 0) continue;
    for (char const letter : alignment) text += letter == 'r' ? "| ---: " : "| --- ";
    text += "|\n";
  }
  return text;
}

} // namespace tik::report
