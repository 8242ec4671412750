// What a search must still have after it was killed: every record that somebody was told of, once.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/search/search.h"

namespace tik::kill {

class Ledger {
 public:
  // What `tik run` printed: "step 5: I7 (...): ..." says that I7 is recorded and audited, and that five offspring are.
  void read_lines(std::vector<std::string> const& lines);

  struct Count {
    int lost = 0, doubled = 0;
  };
  // Compares the search with everything that was acknowledged, and takes all its records for acknowledged from now on.
  Result<Count> compare(std::filesystem::path const& search);

  int steps() const { return steps_; }
  std::size_t records() const { return records_.size(); }

 private:
  std::set<std::int64_t> audited_;              // implementations that a line told of
  std::map<std::int64_t, std::string> records_; // by sequence: the hash, which covers all before
  int told_steps_ = 0, steps_ = 0;
};

} // namespace tik::kill
