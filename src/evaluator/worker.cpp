#include "src/evaluator/worker.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "src/evaluator/evaluator.h"
#include "src/evaluator/launcher.h"
#include "src/evaluator/wire.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t fence = std::size_t{1} << 20; // unmapped memory on both sides of a region: running over an end is a fault

// A region of shared memory at an address of this process's choosing.
struct Mapping {
  char* base = nullptr;
  std::size_t size = 0;
};

// A signal handler has no argument of ours, so what it needs lies here; written once, before any candidate is loaded.
struct FaultContext {
  Mapping input, output;
} fault_context;

void send_reply(Reply const& reply) {
  std::string const bytes = encode_reply(reply);
  while (send(socket_descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

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

void watch_faults() {
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

std::uint64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

class Worker {
 public:
  Worker(Mapping input, Mapping output) : input_(input), output_(output) {}

  Reply serve(PingRequest const&) const { return ReadyReply{}; }

  Reply serve(LoadRequest const& request) {
    void* const library = dlopen(request.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return LoadFailedReply{text_of(dlerror())};
    std::array<void*, 5> found{};
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] = dlsym(library, request.symbols[i].c_str());
      if (found[i] == nullptr) return LoadFailedReply{"the symbol " + request.symbols[i] + " is not exported"};
    }
    if (char const* const taken = exported_system_symbol(library, found[4])) {
      return LoadFailedReply{std::string("it exports ") + taken + ", which belongs to the system"};
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i] = reinterpret_cast<Entry>(found[i]);
    workspace_ = reinterpret_cast<decltype(workspace_)>(found[3]);
    last_error_ = reinterpret_cast<decltype(last_error_)>(dlsym(library, "tik_attention_last_error"));
    return LoadedReply{reinterpret_cast<int32_t (*)()>(found[4])()};
  }

  Reply serve(WorkspaceRequest const& request) const {
    if (workspace_ == nullptr) return LoadFailedReply{"nothing is loaded"};
    return WorkspaceReply{workspace_(&request.shape, &request.limits)};
  }

  Reply serve(CallRequest const& request) const {
    Entry const entry = entries_[static_cast<std::size_t>(request.entry) % entries_.size()];
    if (entry == nullptr) return LoadFailedReply{"nothing is loaded"};
    tik_attention_args args = request.args;
    resolve(args);
    DoneReply reply;
    std::uint64_t const wall = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    reply.status = entry(&args);
    reply.cpu_nanoseconds = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    reply.wall_nanoseconds = nanoseconds(CLOCK_MONOTONIC) - wall;
    if (reply.status != TIK_OK && last_error_ != nullptr) reply.error = text_of(last_error_());
    return reply;
  }

 private:
  using Entry = tik_status (*)(tik_attention_args const*);

  // A function of the system that the library brings along in its own version: it has no effect here, and no good purpose.
  static char const* exported_system_symbol(void* library, void* own_function) {
    Dl_info own{}, other{};
    if (dladdr(own_function, &own) == 0) return nullptr;
    for (char const* name : {"clock_gettime", "clock", "gettimeofday", "time", "times", "getrusage", "send", "recv"}) {
      void* const symbol = dlsym(library, name);
      if (symbol != nullptr && dladdr(symbol, &other) != 0 && other.dli_fbase == own.dli_fbase) return name;
    }
    return nullptr;
  }

  static std::string text_of(char const* text) {
    return text == nullptr ? std::string() : std::string(text, strnlen(text, 2048));
  }

  template <class T>
  void resolve(T*& pointer) const {
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    Mapping const& mapping = region_of(address) == Region::input ? input_ : output_;
    pointer = address == 0 ? nullptr : reinterpret_cast<T*>(mapping.base + offset_of(address));
  }

  void resolve(tik_attention_args& args) const {
    resolve(args.queries);
    resolve(args.query_offsets);
    resolve(args.kv.keys);
    resolve(args.kv.values);
    resolve(args.kv.page_table);
    resolve(args.kv_lengths);
    resolve(args.out);
    resolve(args.lse);
    resolve(args.workspace);
  }

  Mapping input_, output_;
  std::array<Entry, 3> entries_{}; // in the order of spec::WorkloadKind
  int64_t (*workspace_)(tik_attention_shape const*, tik_attention_limits const*) = nullptr;
  char const* (*last_error_)() = nullptr;
};

} // namespace

int serve_requests() {
  std::optional<Mapping> const input = map_region(input_descriptor, PROT_READ);
  std::optional<Mapping> const output = map_region(output_descriptor, PROT_READ | PROT_WRITE);
  if (!input || !output) return 1;
  fault_context = {*input, *output};
  watch_faults();
  Worker worker(*input, *output);
  send_reply(ReadyReply{});
  std::array<char, largest_message> buffer;
  for (;;) {
    ssize_t const count = recv(socket_descriptor, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    Result<WorkerRequest> const request = decode_request({buffer.data(), static_cast<std::size_t>(count)});
    if (!request) return 1;
    send_reply(std::visit([&](auto const& message) { return worker.serve(message); }, *request));
  }
}

int worker_main(int, char**) { return launch(); }

} // namespace tik::evaluator
