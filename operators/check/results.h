// What checks found: a line for each operator and shape.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tik::operators::check {

struct Line {
  std::string operator_name; // "rms_norm"
  std::string shape;         // "4096 with residual"
  int cases = 0;
  int failed = 0;
  std::string first_failure; // which case, and what differed
  double largest_error = -1; // against float64, as a part of the largest magnitude of a row; -1: not compared
};

class Results {
 public:
  // Hears of every case as it ends.
  using Listener = std::function<void(Line const& line, bool passed, std::string const& label, std::string const& detail)>;

  Results() = default;
  explicit Results(Listener listener) : listener_(std::move(listener)) {}

  // Opens the line that the cases from here on belong to.
  void begin(std::string operator_name, std::string shape) {
    Line line;
    line.operator_name = std::move(operator_name);
    line.shape = std::move(shape);
    lines_.push_back(std::move(line));
  }

  void record(bool passed, std::string const& label, std::string const& detail) {
    Line& line = lines_.back();
    ++line.cases;
    if (!passed && line.failed++ == 0) line.first_failure = label + ": " + detail;
    if (listener_) listener_(line, passed, label, detail);
  }

  // A case as well: fails when the error is more than allowed, or not a number.
  void record_error(double error, double allowed) {
    lines_.back().largest_error = error > lines_.back().largest_error ? error : lines_.back().largest_error;
    record(error <= allowed, "float64",
           "the largest error is " + std::to_string(error) + ", more than " + std::to_string(allowed));
  }

  std::vector<Line> const& lines() const { return lines_; }
  int cases() const { return sum(&Line::cases); }
  int failed() const { return sum(&Line::failed); }

 private:
  int sum(int Line::*count) const {
    int total = 0;
    for (Line const& line : lines_) total += line.*count;
    return total;
  }

  std::vector<Line> lines_;
  Listener listener_;
};

} // namespace tik::operators::check
