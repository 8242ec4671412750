#include "src/cli/progress_lines.h"

#include <fmt/format.h>

#include <cstdio>

#include "src/base/json.h"
#include "src/cli/console.h"
#include "src/report/attempt.h"

namespace tik::cli {
namespace {

ir::Json line_of(std::string_view event) {
  ir::Json line;
  line["schema"] = 1;
  line["event"] = event;
  return line;
}

void add_standing(ir::Json& line, search::State const& state, spec::Specification const& specification) {
  line["steps"] = state.steps;
  line["incumbent"] = state.incumbent ? ir::Json(to_string(*state.incumbent)) : ir::Json(nullptr);
  line["speedup"] = state.speedup();
  line["patience"] = {{"used", state.patience_used}, {"limit", specification.stopping.patience}};
}

// At once, so that a reader at the other end of a pipe sees it when it happens.
void write(ir::Json const& line) {
  print(dump_json(line) + '\n');
  std::fflush(stdout);
}

} // namespace

void ProgressLines::audited(ir::Audit const& audit, search::State const& state, bool) {
  ir::Json line = line_of("audit");
  add_standing(line, state, search_.specification());
  line["audit"] = to_string(audit.id);
  // Null where the records cannot be read back: the audit itself is recorded.
  auto const attempts = report::describe_attempts(search_.view(), {audit.implementation});
  line["attempt"] = attempts && !attempts->empty() ? report::to_json(attempts->front()) : ir::Json(nullptr);
  write(line);
}

void ProgressLines::note(std::string const& sentence) { fmt::print(stderr, "tik: {}\n", sentence); }

void ProgressLines::stopped(std::string_view reason, std::string const& sentence, std::filesystem::path const& report) {
  ir::Json line = line_of("stopped");
  add_standing(line, search_.state(), search_.specification());
  line["reason"] = reason;
  line["sentence"] = sentence;
  line["report"] = report.empty() ? ir::Json(nullptr) : ir::Json(report.string());
  write(line);
}

} // namespace tik::cli
