// An opportunity as a person, a script or a model writes it.
#pragma once

#include "src/ir/records.h"

namespace tik::agent {

// An opportunity as it is written: ids and names as text.
struct OpportunityWords {
  std::string kind, mechanism, note;
  std::vector<std::string> workloads, entry_points, evidence, implementations;
};

// The record without what the store assigns. The error names the word that is wrong.
Result<ir::Opportunity> make_opportunity(OpportunityWords const& words);

} // namespace tik::agent
