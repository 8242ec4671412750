#include "src/evaluator/profiler.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tik::evaluator {
namespace {

constexpr std::array<std::uint64_t, 5> events = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                                 PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES,
                                                 PERF_COUNT_HW_BRANCH_MISSES};

std::string refusal() {
  switch (errno) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "The processor gives no hardware counters here, as in most virtual machines.";
    case EACCES:
    case EPERM:
      return "This user may not read hardware counters: lower /proc/sys/kernel/perf_event_paranoid to 1.";
    default:
      return std::string("Hardware counters cannot be opened: ") + std::strerror(errno) + ".";
  }
}

} // namespace

Result<HardwareCounters> HardwareCounters::open(pid_t process) {
  HardwareCounters opened;
  for (std::size_t i = 0; i < events.size(); ++i) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = events[i];
    attributes.disabled = i == 0;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    int const leader = i == 0 ? -1 : opened.counters_[0].get();
    long const descriptor = syscall(SYS_perf_event_open, &attributes, process, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) return machine_error(refusal());
    opened.counters_[i] = Descriptor(static_cast<int>(descriptor));
  }
  return opened;
}

void HardwareCounters::start() {
  ioctl(counters_[0].get(), PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
  ioctl(counters_[0].get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

HardwareCounters::Values HardwareCounters::stop() {
  ioctl(counters_[0].get(), PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
  std::array<std::uint64_t, events.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (read(counters_[i].get(), &values[i], sizeof values[i]) != static_cast<ssize_t>(sizeof values[i])) values[i] = 0;
  }
  return {values[0], values[1], values[2], values[3], values[4]};
}

} // namespace tik::evaluator
