// A search's progress for a person: one rewritten line on a terminal, one line an audit elsewhere.
#pragma once

#include <optional>
#include <string>

#include "src/cli/console.h"
#include "src/search/search.h"

namespace tik::cli {

class Progress : public search::Observer {
 public:
  // `specification` supplies the limits that the line shows; it must outlive this.
  Progress(Console const& console, spec::Specification const& specification, search::State const& state);

  void stage(std::string_view stage, double fraction) override;
  void acted(ir::Action const& action) override;
  void audited(ir::Audit const& audit, search::State const& state, bool promoted) override;
  void decided(ir::LineageDecision const& decision) override;
  void note(std::string const& sentence) override;
  // Takes the live line away, so that other text can follow.
  void finish();

 private:
  void show(bool force);

  Console const& console_;
  spec::Specification const& specification_;
  LiveLine line_;
  // What the line says; taken from the state whenever it changes.
  std::string incumbent_, last_;
  double speedup_ = 1;
  int steps_ = 0, patience_ = 0;
  std::string doing_;
  std::optional<ir::Action> action_;
};

// The stages of a single audit on standard error, for `tik new`, `tik audit` and `tik evaluate`.
class StageLine : public search::Observer {
 public:
  StageLine(Console const& console, std::string what);

  void stage(std::string_view stage, double fraction) override;
  void acted(ir::Action const&) override {}
  void audited(ir::Audit const&, search::State const&, bool) override {}
  void decided(ir::LineageDecision const&) override {}
  void note(std::string const& sentence) override;
  void finish();

 private:
  LiveLine line_;
  std::string what_;
};

} // namespace tik::cli
