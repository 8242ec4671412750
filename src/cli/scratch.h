// A temporary folder that goes away with its owner.
#pragma once

#include <filesystem>

#include "src/base/error.h"

namespace tik::cli {

class ScratchFolder {
 public:
  // Below TMPDIR, else the system's folder for temporary files.
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  std::filesystem::path const& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

} // namespace tik::cli
