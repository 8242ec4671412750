// One writer at a time: an advisory lock on the search's lock file, which the system releases when the process ends, however it
// ends.
#pragma once

#include <filesystem>

#include "src/base/error.h"

namespace tik::search {

class WriterLock {
 public:
  // Takes the lock and writes this process's id into the file. Held by another process: an input error that names its id.
  static Result<WriterLock> acquire(std::filesystem::path const& file);
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock();

 private:
  explicit WriterLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

} // namespace tik::search
