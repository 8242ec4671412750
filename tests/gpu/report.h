// Counts what passed, failed and was skipped, by kind of check, and says what differs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/call.h"

namespace tik::gpu_suite {

class Report {
 public:
  // Counts one case of `kind`; prints `label` and `detail` when it failed.
  void record(std::string const& kind, bool passed, std::string const& label, std::string const& detail = "");

  // Counts one case that could not run here.
  void skip(std::string const& kind, std::string const& why);

  // A bitwise case: tokens [expected_from, expected_from + tokens) of `expected` against those of `actual` from `actual_from`.
  void compare(std::string const& kind, std::string const& label, Rows const& expected, int expected_from, Rows const& actual,
               int actual_from, int tokens);

  // A case of the kind "untouched": inputs unchanged, every output row written, nothing else written.
  void untouched(std::string const& label, std::vector<std::string> const& problems);

  // One line for each kind, then `gpu: N passed, N failed, N skipped`.
  void print() const;
  std::string json() const;
  bool good() const;
  // Names the kind that is about to run, with the time the one before it took.
  void start(std::string const& kind);

 private:
  struct Count {
    int64_t passed = 0;
    int64_t failed = 0;
    int64_t skipped = 0;
    int64_t rows = 0; // rows (tokens x heads) compared bit by bit
    bool bitwise = false;
    double seconds = 0;
  };
  Count total() const;

  std::map<std::string, Count> counts_;
  std::vector<std::string> order_;
  std::string running_;
  double started_ = 0;
};

// What a kind of check gets.
struct Suite {
  Report& report;
  uint64_t seed;
  bool quick;                   // a subset in seconds
  bool tiny;                    // a few small cases, for compute-sanitizer
  std::optional<Kernel> kernel; // forced kernel; the dispatched one when empty
  bool verbose;                 // names every call before it is made: the last name is the one that faults or hangs

  // `full` of the large run, a third of it when quick, `least` when tiny.
  int scaled(int full, int least) const { return tiny ? least : quick ? std::max(full / 3, least) : full; }
};

// Names a call when the suite is verbose.
void announce(Suite const& suite, std::string const& label);

// Runs a call for a kind and records the "untouched" case that comes with it.
std::vector<Rows> run(Suite& suite, CallSetup setup, std::vector<Piece> const& pieces, std::string const& label);

// full() over whole sequences: the rows that everything else is compared with.
std::vector<Rows> run_full(Suite& suite, tik_attention_shape const& shape, std::vector<Piece> const& pieces,
                           std::string const& label);

} // namespace tik::gpu_suite
