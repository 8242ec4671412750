// What an evaluation must not leave behind: processes and open descriptors.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/evaluator/scratch.h"

namespace tik::evaluator {

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

// Processes that this one started and those that run under the contained user, as lines of /proc/PID/stat.
inline std::vector<std::string> left_processes() {
  std::vector<std::string> left;
  for (auto const& entry : std::filesystem::directory_iterator("/proc")) {
    std::string const name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream status(entry.path() / "status");
    long parent = 0, user = -1;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("PPid:")) parent = std::stol(line.substr(5));
      if (line.starts_with("Uid:")) user = std::stol(line.substr(4));
    }
    if (parent != getpid() && !is_contained_user(static_cast<std::uint32_t>(user))) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    std::getline(stat, text);
    left.push_back(text);
  }
  return left;
}

} // namespace tik::evaluator
