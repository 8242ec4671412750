// What texts are reckoned to take in tokens where no service has counted them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tik::agent {

inline constexpr std::size_t bytes_a_token = 4;       // of prose and code
inline constexpr std::size_t model_bytes_a_token = 2; // of what small models write: names, numbers, marks of a call

constexpr std::int64_t estimated_tokens(std::size_t bytes) { return static_cast<std::int64_t>(bytes / bytes_a_token); }

} // namespace tik::agent
