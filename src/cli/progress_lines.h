// A search's progress for a program: `tik run --json`, one JSON document a line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "src/search/search.h"

namespace tik::cli {

class ProgressLines : public search::Observer {
 public:
  // `search` supplies what a line says; it must outlive this.
  explicit ProgressLines(search::Search const& search) : search_(search) {}

  void stage(std::string_view, double) override {}
  void acted(ir::Action const&) override {}
  void audited(ir::Audit const& audit, search::State const& state, bool promoted) override;
  void decided(ir::LineageDecision const&) override {}
  void note(std::string const& sentence) override;
  // The last line. `reason` is a word of search::StopReason, or "agent" when a limit of this run or the agent ended it.
  void stopped(std::string_view reason, std::string const& sentence, std::filesystem::path const& report);

 private:
  search::Search const& search_;
};

} // namespace tik::cli
