#include "src/evaluator/nvml.h"

#include <dlfcn.h>

#include <array>

#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

// Values of NVML's stable interface.
constexpr int sm_clock = 1, memory_clock = 2; // NVML_CLOCK_SM, NVML_CLOCK_MEM
constexpr int gpu_sensor = 0;                 // NVML_TEMPERATURE_GPU

struct MemoryInfo {
  unsigned long long total, free, used;
};

} // namespace

struct GpuMonitor::Library {
  void* handle = nullptr;
  void* device = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_index)(unsigned, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*memory)(void*, MemoryInfo*) = nullptr;
  int number = 0;
  bool started = false;

  Library() = default;
  Library(Library const&) = delete;
  Library& operator=(Library const&) = delete;
  ~Library() {
    if (started) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
  template <class Function>
  bool find(Function& function, char const* symbol) const {
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    return function != nullptr;
  }
};

Result<GpuMonitor> GpuMonitor::open(int number) {
  auto library = std::make_shared<Library>();
  library->handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return machine_error("libnvidia-ml.so.1 is not there: clocks and temperature are not known.");
  bool const found = library->find(library->init, "nvmlInit_v2") && library->find(library->shutdown, "nvmlShutdown") &&
                     library->find(library->device_by_index, "nvmlDeviceGetHandleByIndex_v2") &&
                     library->find(library->name, "nvmlDeviceGetName") &&
                     library->find(library->driver_version, "nvmlSystemGetDriverVersion") &&
                     library->find(library->clock, "nvmlDeviceGetClockInfo") &&
                     library->find(library->temperature, "nvmlDeviceGetTemperature") &&
                     library->find(library->power, "nvmlDeviceGetPowerUsage") &&
                     library->find(library->memory, "nvmlDeviceGetMemoryInfo");
  if (!found) return machine_error("libnvidia-ml.so.1 lacks a function: clocks and temperature are not known.");
  library->number = number;
  library->started = library->init() == 0;
  if (!library->started || library->device_by_index(static_cast<unsigned>(number), &library->device) != 0) {
    return machine_error("The GPU's management interface does not answer: clocks and temperature are not known.");
  }
  return GpuMonitor(std::move(library));
}

Json GpuMonitor::identity() const {
  std::array<char, 128> name{}, driver{};
  library_->name(library_->device, name.data(), name.size() - 1);
  library_->driver_version(driver.data(), driver.size() - 1);
  return {{"name", valid_utf8(name.data())}, {"driver", valid_utf8(driver.data())}, {"number", library_->number}};
}

GpuMonitor::State GpuMonitor::state() const {
  State state;
  unsigned milliwatts = 0;
  library_->clock(library_->device, sm_clock, &state.sm_clock_mhz);
  library_->clock(library_->device, memory_clock, &state.memory_clock_mhz);
  library_->temperature(library_->device, gpu_sensor, &state.temperature_c);
  library_->power(library_->device, &milliwatts);
  state.power_w = 1e-3 * milliwatts;
  return state;
}

std::uint64_t GpuMonitor::used_bytes() const {
  MemoryInfo memory{};
  library_->memory(library_->device, &memory);
  return memory.used;
}

} // namespace tik::evaluator
