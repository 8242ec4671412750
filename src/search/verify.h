// Whether a search is what it claims to be: everything that its records and sources promise, and every rule on every record.
#pragma once

#include <filesystem>

#include "src/ir/verify.h"

namespace tik::search {

// Checks the records and commits as ir::verify says, and folds the records again, asking every rule of rules.h about each
// before it is folded in: parents verified and retained, opportunities pending, forms, regions and diffs as the sources give
// them, promotions and limits as the reports give them, decisions allowed. Nothing is changed. Findings are what is off; an
// Error means that there is no search in `folder`.
Result<ir::Verification> verify(std::filesystem::path const& folder);

} // namespace tik::search
