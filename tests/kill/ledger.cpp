#include "tests/kill/ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tik::kill {
namespace {

// Audits beyond one for an implementation, steps that are not one for each audited offspring, and opportunities that two
// actions took.
int doubled_records(search::Search const& search) {
  int surplus = 0, audited = 0;
  for (auto const& [id, implementation] : search.state().implementations) {
    surplus += std::max(0, static_cast<int>(search.store().audits_of(id)->size()) - 1);
    audited += implementation.audited ? 1 : 0;
  }
  for (auto const& [id, opportunity] : search.state().opportunities)
    surplus += std::max(0, static_cast<int>(opportunity.actions.size()) - 1);
  return surplus + std::abs(audited - 1 - search.state().steps);
}

} // namespace

void Ledger::read_lines(std::vector<std::string> const& lines) {
  for (std::string const& line : lines) {
    int step = 0;
    long long implementation = 0;
    if (std::sscanf(line.c_str(), "step %d: I%lld", &step, &implementation) != 2) continue;
    told_steps_ = std::max(told_steps_, step);
    audited_.insert(implementation);
  }
}

Result<Ledger::Count> Ledger::compare(std::filesystem::path const& folder) {
  TIK_TRY(search::Search const search, search::Search::open(folder, search::Search::Mode::read));
  Count count;
  std::map<std::int64_t, std::string> found;
  TIK_CHECK(search.store().read_journal([&](ir::JournalEntry const& entry) -> Result<void> {
    count.doubled += found.emplace(entry.sequence, entry.sha256).second ? 0 : 1;
    return {};
  }));
  for (auto const& [sequence, sha256] : records_) {
    auto const there = found.find(sequence);
    count.lost += there != found.end() && there->second == sha256 ? 0 : 1;
  }
  for (std::int64_t const number : audited_) {
    auto const audits = search.store().audits_of(ir::ImplementationId{number});
    count.lost += audits && !audits->empty() ? 0 : 1;
  }
  count.lost += std::max(0, std::max(told_steps_, steps_) - search.state().steps);
  count.doubled += doubled_records(search);
  records_ = std::move(found);
  steps_ = search.state().steps;
  return count;
}

} // namespace tik::kill
