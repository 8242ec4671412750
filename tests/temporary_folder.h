// A folder of its own for one test, gone afterwards.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include "src/base/scratch_folder.h"

namespace tik::test {

class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(ScratchFolder::temporary("tik-test")) {}
  // In memory where the machine has such a file system: for tests that flush after every write.
  static TemporaryFolder in_memory() {
    std::filesystem::path const memory = "/dev/shm";
    if (access(memory.c_str(), W_OK) != 0) return {};
    return TemporaryFolder(ScratchFolder::make(memory, "tik-test"));
  }
  std::filesystem::path const& path() const { return folder_.path(); }
  std::string operator/(std::string const& name) const { return (path() / name).string(); }

 private:
  explicit TemporaryFolder(Result<ScratchFolder> folder) : folder_(value(std::move(folder))) {}
  static ScratchFolder value(Result<ScratchFolder> folder) {
    if (!folder) throw std::runtime_error(folder.error().message);
    return std::move(*folder);
  }
  ScratchFolder folder_;
};

} // namespace tik::test
