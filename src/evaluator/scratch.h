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

// A user id for one contained process, another one with every call, that no account has: contained processes cannot touch each
// other, and the kernel counts a user's processes and threads together, so that a shared id would share the limit.
std::uint32_t contained_user();
// Whether an id is one that this process gave.
bool is_contained_user(std::uint32_t user);

// Gives a folder to such a user when this process may do so (root); otherwise both are the same user.
Result<void> hand_over(std::filesystem::path const& folder, std::uint32_t user);

} // namespace tik::evaluator
