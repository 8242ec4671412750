#include "src/evaluator/worker_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "src/evaluator/launcher.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t fence = std::size_t{1} << 20; // unmapped memory on both sides of a region: running over an end is a fault

// A signal handler has no argument of ours, so what it needs lies here; written once, before any candidate is loaded.
WorkerMemory fault_context;

bool near(Mapping const& mapping, char const* address) {
  return address >= mapping.base - fence && address < mapping.base + mapping.size + fence;
}

// Says where the fault was and lets the signal happen again, so that the parent sees the real end.
void on_fault(int number, siginfo_t* information, void*) {
  FaultReply reply{number, Region::none, 0};
  char const* const address = static_cast<char const*>(information->si_addr);
  if (near(fault_context.input, address)) reply = {number, Region::input, address - fault_context.input.base};
  if (near(fault_context.output, address)) reply = {number, Region::output, address - fault_context.output.base};
  send_reply(reply);
  signal(number, SIG_DFL);
}

std::optional<Mapping> map_region(int descriptor, int protection) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0) return std::nullopt;
  auto const size = static_cast<std::size_t>(found.st_size);
  void* const space = mmap(nullptr, size + 2 * fence, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return std::nullopt;
  char* const base = static_cast<char*>(space) + fence;
  if (mmap(base, size, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) return std::nullopt;
  close(descriptor);
  return Mapping{base, size};
}

} // namespace

void send_reply(Reply const& reply) {
  std::string const bytes = encode_reply(reply);
  while (send(socket_descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

std::uint64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

std::optional<WorkerMemory> map_memory() {
  std::optional<Mapping> const input = map_region(input_descriptor, PROT_READ);
  std::optional<Mapping> const output = map_region(output_descriptor, PROT_READ | PROT_WRITE);
  if (!input || !output) return std::nullopt;
  return WorkerMemory{*input, *output};
}

void watch_faults(WorkerMemory const& memory) {
  fault_context = memory;
  static std::array<char, 65536> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int const number : {SIGSEGV, SIGBUS}) sigaction(number, &action, nullptr);
}

std::optional<WorkerRequest> receive_request() {
  std::array<char, largest_message> buffer;
  for (;;) {
    ssize_t const count = recv(socket_descriptor, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    Result<WorkerRequest> request = decode_request({buffer.data(), static_cast<std::size_t>(count)});
    if (!request) return std::nullopt;
    return std::move(*request);
  }
}

} // namespace tik::evaluator
