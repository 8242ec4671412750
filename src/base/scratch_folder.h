// A folder that lives as long as its object.
#pragma once

#include <filesystem>
#include <string>

#include "src/base/error.h"

namespace tik {

// A fresh folder below an existing one, removed with all its content at the end.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make(std::filesystem::path const& parent, std::string const& name);
  // Below TMPDIR, else the system's folder for temporary files.
  static Result<ScratchFolder> temporary(std::string const& name);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  std::filesystem::path const& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

} // namespace tik
