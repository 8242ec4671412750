// Times kernels against each other where a program needs to know which is the fastest.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace tik::operators::sm90 {

// Device memory, a stream and two events, all gone with it.
class Trial {
 public:
  Trial();
  ~Trial();
  Trial(Trial const&) = delete;
  Trial& operator=(Trial const&) = delete;

  // Device memory with random bfloat16 numbers: random signs and fractions, magnitudes from 1/8 to 2.
  void* allocate(int64_t bytes, uint32_t seed);

  // The 32-bit words in which two arrays differ.
  unsigned long long differences(void const* a, void const* b, int64_t bytes);

  // Milliseconds of launch(0) to launch(count - 1), which are all in the stream before the first begins: a kernel that only
  // waits holds them up, so that the time of launching does not count.
  template <typename Launch>
  float time_ms(int count, Launch const& launch) {
    hold_up(count);
    keep(cudaEventRecord(marks_[0], stream));
    for (int turn = 0; turn < count; ++turn) launch(turn);
    return since_mark_ms();
  }

  void keep(cudaError_t happened) {
    if (error == cudaSuccess) error = happened;
  }

  cudaStream_t stream = nullptr;
  cudaError_t error = cudaSuccess; // the first

 private:
  void hold_up(int launches);
  float since_mark_ms();

  std::vector<void*> memory_;
  unsigned long long* differences_ = nullptr;
  cudaEvent_t marks_[2] = {};
};

} // namespace tik::operators::sm90
