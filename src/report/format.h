// How figures, words and tables are shown: one way for the command line, the report and the plots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tik::report {

// Three significant digits with the unit that keeps them short: "84.2 us", "1.24 ms", "2.10 s".
std::string latency(double us);

// A ratio of two latencies, two decimals: "4.21x".
std::string ratio(double value);

// "1 audit", "3 audits": the plural by an s.
std::string count(std::int64_t number, std::string_view noun);

// Elements with `separator` between them.
std::string join(std::vector<std::string> const& parts, std::string_view separator);

// Records' ids for people, separated by spaces: "I3 I7"; "-" when there is none.
template <class Ids>
std::string id_list(Ids const& ids);

// Characters a terminal shows for UTF-8 text, taking every code point as one column.
std::size_t width(std::string_view text);

// The text on one line (line breaks become spaces), cut at `columns` with an ellipsis. 0 columns: never cut.
std::string one_line(std::string_view text, std::size_t columns);

// Text broken at spaces into lines of at most `columns`, each after the first preceded by `indent` spaces.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indent);

// Columns aligned by spaces; the first row is the heading. `alignment` has one letter a column: l or r. Ends with a line break.
std::string text_table(std::vector<std::vector<std::string>> const& rows, std::string_view alignment);

// The same as a Markdown table; cells may hold any text.
std::string markdown_table(std::vector<std::vector<std::string>> const& rows, std::string_view alignment);

// Text that Markdown shows as it is.
std::string markdown_escape(std::string_view text);

template <class Ids>
std::string id_list(Ids const& ids) {
  std::string text;
  for (auto const& id : ids) text += (text.empty() ? "" : " ") + to_string(id);
  return text.empty() ? "-" : text;
}

} // namespace tik::report
