// The state of the GPU seen from outside any worker: NVIDIA's management library, found at run time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "src/evaluator/report.h"

namespace tik::evaluator {

class GpuMonitor {
 public:
  // A GPU as nvidia-smi numbers them; an error says what is missing.
  static Result<GpuMonitor> open(int number = 0);

  // {"name", "driver", "number"}
  Json identity() const;

  struct State {
    unsigned sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
    double power_w = 0;
  };
  State state() const;
  // Of device memory, by everybody.
  std::uint64_t used_bytes() const;

 private:
  struct Library;
  explicit GpuMonitor(std::shared_ptr<Library const> library) : library_(std::move(library)) {}
  std::shared_ptr<Library const> library_;
};

// The GPU during one evaluation: what is taken of its memory by others, and what the evaluator gave its own workers.
struct GpuWatch {
  explicit GpuWatch(GpuMonitor opened) : monitor(std::move(opened)), used_before(monitor.used_bytes()) {}
  GpuMonitor monitor;
  std::uint64_t used_before;
  std::atomic<std::uint64_t> granted{0};
};

// Memory that a worker was given, as long as it lives. Without a watch nothing is counted.
class GpuGrant {
 public:
  GpuGrant(GpuWatch* watch, std::uint64_t bytes) : watch_(watch), bytes_(bytes) {
    if (watch_ != nullptr) watch_->granted += bytes_;
  }
  GpuGrant(GpuGrant&& other) noexcept : watch_(std::exchange(other.watch_, nullptr)), bytes_(other.bytes_) {}
  GpuGrant& operator=(GpuGrant&&) = delete;
  ~GpuGrant() {
    if (watch_ != nullptr) watch_->granted -= bytes_;
  }
  GpuWatch* watch() const { return watch_; }

 private:
  GpuWatch* watch_;
  std::uint64_t bytes_;
};

} // namespace tik::evaluator
