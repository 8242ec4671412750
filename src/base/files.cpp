#include "src/base/files.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace tik {
namespace {

std::string reason() { return std::strerror(errno); }

// Closes on every way out.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

} // namespace

Result<std::string> read_file(std::filesystem::path const& file) {
  Descriptor descriptor{open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (descriptor.number < 0) return input_error(fmt::format("{}: cannot be read: {}.", file.string(), reason()));
  std::string content;
  char buffer[65536];
  for (;;) {
    ssize_t const count = read(descriptor.number, buffer, sizeof buffer);
    if (count == 0) return content;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return input_error(fmt::format("{}: cannot be read: {}.", file.string(), reason()));
    content.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<void> write_file(std::filesystem::path const& file, std::string_view content, Flush flush) {
  std::string const temporary = file.string() + fmt::format(".{}.part", getpid());
  auto const fail = [&](char const* what) {
    std::string message = fmt::format("{}: cannot be {}: {}.", file.string(), what, reason());
    unlink(temporary.c_str());
    return machine_error(std::move(message));
  };
  {
    Descriptor descriptor{open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (descriptor.number < 0) return fail("created");
    while (!content.empty()) {
      ssize_t const count = write(descriptor.number, content.data(), content.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail("written");
      content.remove_prefix(static_cast<std::size_t>(count));
    }
    if (flush == Flush::yes && fsync(descriptor.number) != 0) return fail("flushed to disk");
  }
  if (rename(temporary.c_str(), file.c_str()) != 0) return fail("renamed into place");
  return {};
}

std::string utc_now() {
  auto const now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  auto const millis = now.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), millis);
}

} // namespace tik
