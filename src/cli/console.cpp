#include "src/cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/report/format.h"

namespace tik::cli {
namespace {

bool has_utf8_locale() {
  for (char const* const name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (char const* const value = std::getenv(name); value && *value) {
      std::string_view const text = value;
      return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
    }
  return false;
}

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

long long now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

Console detect_console() {
  Console console;
  console.terminal = isatty(STDOUT_FILENO) == 1;
  console.error_terminal = isatty(STDERR_FILENO) == 1;
  char const* const no_color = std::getenv("NO_COLOR");
  char const* const term = std::getenv("TERM");
  console.color = console.terminal && !(no_color && *no_color) && !(term && std::string_view(term) == "dumb");
  console.unicode = has_utf8_locale();
  console.columns = console.terminal ? terminal_columns(STDOUT_FILENO) : 0;
  return console;
}

std::string Console::paint(std::string_view text, Paint paint) const {
  static constexpr std::string_view codes[] = {"", "1", "2", "32", "31", "33", "36"};
  if (!color || paint == Paint::plain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(paint)], text);
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(nlohmann::ordered_json const& document) {
  print(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

Result<void> flush_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return {};
  return machine_error(fmt::format("Standard output cannot be written: {}.", std::strerror(errno)));
}

int report_error(Error const& error) {
  std::string const message = "tik: " + error.message + (error.message.ends_with('\n') ? "" : "\n");
  std::fwrite(message.data(), 1, message.size(), stderr);
  switch (error.kind) {
    case ErrorKind::input:
      return 2;
    case ErrorKind::machine:
      return 3;
    case ErrorKind::damage:
      return 4;
    case ErrorKind::cancelled:
      return 130;
  }
  return 3;
}

LiveLine::LiveLine(std::FILE* stream, bool terminal) : stream_(stream), terminal_(terminal) {}

LiveLine::~LiveLine() { clear(); }

void LiveLine::show(std::string_view text, bool force) {
  if (!terminal_) return;
  long long const now = now_ms();
  if (!force && now - last_ms_ < 50) return;
  last_ms_ = now;
  shown_ = true;
  fmt::print(stream_, "\r\x1b[K{}", report::one_line(text, terminal_columns(fileno(stream_)) - 1));
  std::fflush(stream_);
}

void LiveLine::clear() {
  if (!shown_) return;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
  shown_ = false;
}

} // namespace tik::cli
