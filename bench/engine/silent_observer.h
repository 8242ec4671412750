// Watches a run without a word, and asks it to stop after some lineage decisions.
#pragma once

#include "src/search/search.h"

namespace tik::bench {

class SilentObserver : public search::Observer {
 public:
  explicit SilentObserver(int decisions) : left_(decisions) {}
  void stage(std::string_view, double) override {}
  void acted(ir::Action const&) override {}
  void audited(ir::Audit const&, search::State const&, bool) override {}
  void decided(ir::LineageDecision const&) override {
    if (--left_ <= 0) stop_ = true;
  }
  std::atomic<bool> const& stop() const { return stop_; }

 private:
  int left_;
  std::atomic<bool> stop_ = false;
};

} // namespace tik::bench
