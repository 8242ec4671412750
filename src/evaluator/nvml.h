// The state of the GPU seen from outside any worker: NVIDIA's management library, found at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/evaluator/report.h"

namespace tik::evaluator {

class GpuMonitor {
 public:
  // The first GPU; an error says what is missing.
  static Result<GpuMonitor> open();

  // {"name", "driver"}
  Json identity() const;

  struct State {
    unsigned sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
    double power_w = 0;
    std::uint64_t used_bytes = 0; // of device memory, by everybody
  };
  State state() const;

 private:
  struct Library;
  explicit GpuMonitor(std::shared_ptr<Library const> library) : library_(std::move(library)) {}
  std::shared_ptr<Library const> library_;
};

} // namespace tik::evaluator
