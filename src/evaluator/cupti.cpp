#include "src/evaluator/cupti.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace tik::evaluator::cuda {
namespace {

using Status = int; // CUptiResult
constexpr std::size_t buffer_bytes = std::size_t{1} << 20, record_alignment = 8;
constexpr std::uint32_t forced = 1; // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

// A toolkit's own folders are not among those that libraries are looked for in.
constexpr char const* places[] = {"libcupti.so.13",
                                  "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
                                  "/usr/local/cuda/lib64/libcupti.so.13",
                                  "/usr/local/cuda/lib/libcupti.so.13",
                                  "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.13",
                                  "libcupti.so.12",
                                  "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12"};

} // namespace

struct KernelRecorder::Library {
  Status (*GetVersion)(std::uint32_t*) = nullptr;
  Status (*GetResultString)(Status, char const**) = nullptr;
  Status (*ActivityRegisterCallbacks)(void (*)(std::uint8_t**, std::size_t*, std::size_t*),
                                      void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t)) = nullptr;
  Status (*ActivityEnable)(std::uint32_t) = nullptr;
  Status (*ActivityDisable)(std::uint32_t) = nullptr;
  Status (*ActivityFlushAll)(std::uint32_t) = nullptr;
  Status (*ActivityGetNextRecord)(std::uint8_t*, std::size_t, void**) = nullptr;

  static Result<Library const*> load();
  std::string describe(char const* doing, Status status) const {
    char const* text = nullptr;
    GetResultString(status, &text);
    return std::string("CUPTI refused ") + doing + ": " + (text == nullptr ? "status " + std::to_string(status) : text);
  }
};

namespace {

// What the library calls back with, on a thread of its own.
struct Recording {
  std::mutex mutex;
  Status (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
  std::vector<std::pair<std::uint64_t, KernelRun>> kernels; // with their beginning
};
Recording& recording() {
  static Recording* const all = new Recording; // never destroyed: a callback may come while the process ends
  return *all;
}

KernelRun run_of(KernelActivity const& activity) {
  KernelRun run;
  for (std::size_t i = 0; i < 3; ++i) {
    run.grid[i] = static_cast<std::uint32_t>(activity.grid[i]);
    run.block[i] = static_cast<std::uint32_t>(activity.block[i]);
  }
  run.registers = activity.registers;
  run.static_shared_bytes = static_cast<std::uint32_t>(activity.static_shared_bytes);
  run.dynamic_shared_bytes = static_cast<std::uint32_t>(activity.dynamic_shared_bytes);
  run.local_bytes = activity.local_bytes;
  run.nanoseconds = activity.end - activity.start;
  if (activity.name != nullptr) run.name = activity.name;
  return run;
}

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(record_alignment, buffer_bytes));
  *bytes = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0; // as many as fit
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  Recording& all = recording();
  std::lock_guard const lock(all.mutex);
  void* record = nullptr;
  while (all.next_record(buffer, valid_bytes, &record) == 0) {
    auto const& activity = *static_cast<KernelActivity const*>(record);
    if (activity.kind == concurrent_kernel_activity) all.kernels.emplace_back(activity.start, run_of(activity));
  }
  std::free(buffer);
}

} // namespace

Result<KernelRecorder::Library const*> KernelRecorder::Library::load() {
  void* handle = nullptr;
  for (char const* place : places) {
    if (handle == nullptr) handle = dlopen(place, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) return input_error("CUPTI is not there (libcupti.so.13): install the CUDA toolkit");
  static Library library;
  bool complete = true;
  auto const find = [&](auto& function, char const* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    complete = complete && function != nullptr;
  };
  find(library.GetVersion, "cuptiGetVersion");
  find(library.GetResultString, "cuptiGetResultString");
  find(library.ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  find(library.ActivityEnable, "cuptiActivityEnable");
  find(library.ActivityDisable, "cuptiActivityDisable");
  find(library.ActivityFlushAll, "cuptiActivityFlushAll");
  find(library.ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  if (!complete) return input_error("The CUPTI that is there lacks a function: install that of CUDA 12.3 or newer");
  recording().next_record = library.ActivityGetNextRecord;
  if (Status const status = library.ActivityRegisterCallbacks(give_buffer, take_buffer); status != 0)
    return input_error(library.describe("to call back", status));
  return &library;
}

Result<void> KernelRecorder::start() {
  if (library_ == nullptr) {
    TIK_TRY(library_, Library::load());
    std::uint32_t version = 0;
    library_->GetVersion(&version);
    source_ = "CUPTI " + std::to_string(version);
  }
  {
    std::lock_guard const lock(recording().mutex);
    recording().kernels.clear();
  }
  if (Status const status = library_->ActivityEnable(concurrent_kernel_activity); status != 0)
    return input_error(library_->describe("to record kernels", status));
  return {};
}

Result<void> KernelRecorder::stop() {
  kernels_.clear();
  if (library_ == nullptr) return input_error("no kernels are being recorded");
  Status const flushed = library_->ActivityFlushAll(forced), disabled = library_->ActivityDisable(concurrent_kernel_activity);
  if (flushed != 0 || disabled != 0)
    return input_error(library_->describe("to hand over what it recorded", flushed != 0 ? flushed : disabled));
  std::lock_guard const lock(recording().mutex);
  auto& kernels = recording().kernels;
  std::stable_sort(kernels.begin(), kernels.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  for (auto& [start, run] : kernels) kernels_.push_back(std::move(run));
  kernels.clear();
  return {};
}

} // namespace tik::evaluator::cuda
