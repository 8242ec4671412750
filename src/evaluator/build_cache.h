// Built libraries by the hash of everything that decided about them. An entry is complete or not there; its library is checked
// against its own hash before it is used.
#pragma once

#include <optional>

#include "src/evaluator/build.h"

namespace tik::evaluator {

// The entry of `key`; nothing when there is no cache, no entry, or a damaged one.
std::optional<Built> find_cached(std::filesystem::path const& cache, std::string const& key);

// Puts the library of a finished build where workers may see it, alone in a folder: in the cache when there is one, else below
// `scratch`.
Result<std::filesystem::path> keep_built(std::filesystem::path const& cache, std::string const& key,
                                         std::filesystem::path const& scratch, std::string const& library, Built const& built);

} // namespace tik::evaluator
