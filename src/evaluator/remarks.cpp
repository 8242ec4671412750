#include "src/evaluator/remarks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::size_t most_loops = 500;

struct Remark {
  std::string_view file, text;
  int line = 0;
  bool optimized = false;
};

std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end == text.data() + text.size() || *end != ':') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

// "FILE:LINE:COLUMN: optimized: TEXT" or "missed".
std::optional<Remark> parse(std::string_view line) {
  std::size_t const colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
  Remark remark;
  remark.file = line.substr(0, colon);
  line.remove_prefix(colon + 1);
  std::optional<int> const row = take_number(line);
  if (!row || !take_number(line)) return std::nullopt;
  remark.line = *row;
  for (std::string_view const kind : {" optimized: ", " missed: "}) {
    if (!line.starts_with(kind)) continue;
    remark.optimized = kind == " optimized: ";
    remark.text = line.substr(kind.size());
    while (remark.text.starts_with(' ')) remark.text.remove_prefix(1);
    return remark;
  }
  return std::nullopt;
}

} // namespace

bool gives_remarks(std::string_view compiler) {
  std::string const name = std::filesystem::path(compiler).filename().string();
  return name == "g++" || name == "gcc" || name == "c++" || name == "cc" || name.starts_with("g++-") ||
         name.starts_with("gcc-");
}

bool RemarkReader::read_remark(std::string_view line) {
  std::optional<Remark> const remark = parse(line);
  if (!remark) return false;
  if (remark->file.starts_with('/')) return true; // the system's and the contract's files are not the candidate's
  bool const vectorized = remark->text.starts_with("loop vectorized");
  bool const missed = remark->text.starts_with("couldn't vectorize loop");
  if (vectorized || missed) {
    auto const key = std::pair(valid_utf8(remark->file), remark->line);
    unexplained_ = nullptr;
    if (loops_.size() >= most_loops && !loops_.contains(key)) return true;
    Loop& loop = loops_[key];
    (vectorized ? loop.vectorized : loop.missed) += 1;
    if (missed) unexplained_ = &loop;
    if (std::size_t const at = remark->text.find("using "); vectorized && at != std::string_view::npos) {
      std::from_chars(remark->text.data() + at + 6, remark->text.data() + remark->text.size(), loop.vector_bytes);
    }
  } else if (unexplained_ != nullptr && remark->text.starts_with("not vectorized: ")) {
    if (unexplained_->reason.empty()) unexplained_->reason = valid_utf8(remark->text.substr(16));
    unexplained_ = nullptr;
  }
  return true;
}

void RemarkReader::read_line(std::string_view line) {
  if (read_remark(line)) {
    after_remark_ = true;
    return;
  }
  if (after_remark_ && line.starts_with(" scalar_type")) return;
  after_remark_ = false;
  log_total_ += line.size() + 1;
  if (log_.size() + line.size() < log_limit_) {
    log_ += line;
    log_ += '\n';
  } else if (log_.size() < log_limit_) {
    log_ += line.substr(0, log_limit_ - log_.size());
  }
}

void RemarkReader::feed(std::string_view piece) {
  while (!piece.empty()) {
    std::size_t const end = piece.find('\n');
    std::string_view const part = piece.substr(0, end);
    pending_ += part;
    if (end == std::string_view::npos && pending_.size() < longest_line) return;
    read_line(pending_);
    pending_.clear();
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
  }
}

void RemarkReader::finish() {
  if (!pending_.empty()) read_line(pending_);
  pending_.clear();
}

Json RemarkReader::summary() const {
  Json loops = Json::array();
  int vectorized = 0, missed = 0;
  for (auto const& [place, loop] : loops_) {
    bool const always = loop.missed == 0;
    (always ? vectorized : missed) += 1;
    loops.push_back({{"file", place.first},
                     {"line", place.second},
                     {"vectorized", always},
                     {"vector_bytes", loop.vector_bytes},
                     {"reason", loop.reason}});
  }
  return {{"loops", loops}, {"vectorized", vectorized}, {"missed", missed}};
}

} // namespace tik::evaluator
