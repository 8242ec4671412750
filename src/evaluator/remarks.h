// What GCC says about its loops while it compiles (-fopt-info-vec-optimized-missed), told apart from its other output.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "src/evaluator/report.h"

namespace tik::evaluator {

inline constexpr std::string_view remarks_flag = "-fopt-info-vec-optimized-missed";

// Whether a compiler of this name understands that flag.
bool gives_remarks(std::string_view compiler);

// Reads a compiler's output piece by piece; keeps remarks about the candidate's own files by loop, and the first `log_limit`
// bytes of everything that is no remark.
class RemarkReader {
 public:
  explicit RemarkReader(std::size_t log_limit) : log_limit_(log_limit) {}
  void feed(std::string_view piece);
  void finish(); // the last line may have no end

  std::string const& log() const { return log_; }
  std::size_t log_total() const { return log_total_; }
  // {"loops": [{"file", "line", "vectorized", "vector_bytes", "reason"}], "vectorized", "missed"}; one entry a source loop.
  Json summary() const;

 private:
  struct Loop {
    int vectorized = 0, missed = 0, vector_bytes = 0; // a template or an inlined function is compiled several times
    std::string reason;
  };
  void read_line(std::string_view line);
  bool read_remark(std::string_view line);

  std::size_t log_limit_, log_total_ = 0;
  std::string pending_, log_;
  bool after_remark_ = false;
  Loop* unexplained_ = nullptr;
  std::map<std::pair<std::string, int>, Loop> loops_;
};

} // namespace tik::evaluator
