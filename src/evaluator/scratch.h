// The folders of an evaluation, and the user that contained processes run as.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "src/base/error.h"
#include "src/base/scratch_folder.h"

namespace tik::evaluator {

// The empty folder below the scratch folder on which every contained process puts its private file system together, unseen by
// the others.
inline constexpr char staging_folder[] = "root";

// Makes a folder below an existing one; one that is there already is taken as it is.
Result<std::filesystem::path> make_folder(std::filesystem::path const& parent, std::string const& name);

// A user id for the contained processes of this process that no account has: two evaluators cannot touch each other's
// processes.
std::uint32_t contained_user();

// Gives a folder to that user when this process may do so (root); otherwise both are the same user.
Result<void> hand_over(std::filesystem::path const& folder);

} // namespace tik::evaluator
