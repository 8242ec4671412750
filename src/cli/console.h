// What the command line writes to: text on standard output, errors on standard error, colour only for a person at a terminal.
#pragma once

#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "src/base/error.h"

namespace tik::cli {

enum class Paint { plain, bold, quiet, good, bad, warning, info };

struct Console {
  bool terminal = false;       // standard output is a terminal
  bool error_terminal = false; // standard error is
  bool color = false;          // a terminal, and NO_COLOR is not set
  bool unicode = false;        // the locale is UTF-8
  std::size_t columns = 0;     // of the terminal; 0 when there is none: text is not cut

  // The text in a colour where colours are shown, else the text.
  std::string paint(std::string_view text, Paint paint) const;
};

Console detect_console();

// Standard output. What cannot be written is reported by flush_output().
void print(std::string_view text);
// One JSON document with a line break; bytes that are not UTF-8 are replaced.
void print_json(nlohmann::ordered_json const& document);
Result<void> flush_output();

// "tik: MESSAGE" on standard error; returns the exit code of the error's kind.
int report_error(Error const& error);

// A line that is rewritten in place on a terminal, and nothing elsewhere.
class LiveLine {
 public:
  LiveLine(std::FILE* stream, bool terminal);
  ~LiveLine();
  LiveLine(LiveLine const&) = delete;
  LiveLine& operator=(LiveLine const&) = delete;

  // Shows the text, cut at the terminal's width. Calls less than 50 ms apart are dropped unless forced.
  void show(std::string_view text, bool force = false);
  void clear();

 private:
  std::FILE* stream_;
  bool terminal_;
  bool shown_ = false;
  long long last_ms_ = 0;
};

} // namespace tik::cli
