#include "src/evaluator/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "src/base/sanitized.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/statistics.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr char library_inside[] = "/library";
constexpr std::uint64_t context_bytes = std::uint64_t{1536} << 20; // of a GPU: the driver's own, and the flushed buffer
constexpr std::int64_t driver_mb = 512;  // of host memory: the driver's own, which takes 110 on an H200 (driver 580)
constexpr int process_check_period = 64; // requests
constexpr std::string_view kernel_libraries[] = {"libcublas",    "libcudnn",    "libcufft",   "libcusolver",
                                                 "libcusparse",  "libcutensor", "libcutlass", "libnvrtc",
                                                 "libnvJitLink", "libnccl",     "libnvinfer", "libtorch"};

// An address-space limit would count the shadow memory that a sanitized program reserves.
#if TIK_SANITIZED
constexpr bool limits_address_space = false;
#else
constexpr bool limits_address_space = true;
#endif

struct SocketPair {
  Descriptor parent, worker;
};

Result<SocketPair> make_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return machine_error(fmt::format("A socket to a worker cannot be made: {}.", std::strerror(errno)));
  }
  SocketPair pair{Descriptor(ends[0]), Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, 32))};
  close(ends[1]);
  int const on = 1;
  setsockopt(pair.parent.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on); // the kernel tells which process answers
  return pair;
}

// One packet and the process that sent it.
struct Packet {
  std::string bytes;
  pid_t sender = -1;
};

std::optional<Packet> read_packet(int socket) {
  std::array<char, largest_message> buffer;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  while ((count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (count <= 0) return std::nullopt;
  Packet packet{std::string(buffer.data(), static_cast<std::size_t>(count)), -1};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
      packet.sender = sender.pid;
    }
  }
  return packet;
}

double read_clock_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

ChildPlan child_plan(SessionPlan const& plan, std::filesystem::path const& staging) {
  ChildPlan child;
  child.mounts = {{plan.library_folder, library_inside, false}};
  child.staging = staging;
  child.layers = plan.layers;
  child.filter = plan.gpu ? CallFilter::gpu_worker : CallFilter::worker;
  child.gpu = plan.gpu ? GpuUse::serve : GpuUse::none;
  child.gpu_number = plan.gpu_number;
  // What the worker is allowed for itself, beyond the memory that the parent shares with it.
  std::int64_t const memory_mb =
      plan.limits.memory_mb + static_cast<std::int64_t>((plan.input_bytes + plan.output_bytes) >> 20) + 64;
  if (plan.gpu) { // the driver reserves address space for all memory of the machine
    child.resident_mb = memory_mb + driver_mb;
  } else if (limits_address_space) {
    child.memory_mb = memory_mb;
  }
  child.cpu_seconds = plan.limits.seconds + 1;
  child.file_mb = 1;
  child.processes = plan.gpu ? plan.limits.processes : 4; // the driver has threads of its own
  child.processor = plan.processor;
  child.user = contained_user();
  return child;
}

} // namespace

std::array<std::string, 5> symbols_of(spec::Manifest const& manifest) {
  return {manifest.full_symbol, manifest.extend_symbol, manifest.decode_symbol, manifest.workspace_symbol,
          manifest.version_symbol};
}

Checked<Session> Session::start(SessionPlan const& plan) {
  Clock::time_point const begin = Clock::now();
  std::shared_ptr<SharedMemory> input = plan.shared_inputs;
  if (!input) {
    auto made = SharedMemory::make(plan.input_bytes, SharedMemory::Access::worker_reads);
    if (!made) return machine_failure(made.error());
    input = std::make_shared<SharedMemory>(std::move(*made));
  }
  auto output = SharedMemory::make(plan.output_bytes, SharedMemory::Access::worker_writes);
  if (!output) return machine_failure(output.error());
  GpuGrant grant(plan.watch, plan.input_bytes + plan.output_bytes + context_bytes);
  auto sockets = make_sockets();
  if (!sockets) return machine_failure(sockets.error());
  auto staging = make_folder(plan.scratch, staging_folder);
  if (!staging) return machine_failure(staging.error());
  Child::Options options;
  options.seconds = plan.limits.seconds;
  options.output_bytes = plan.limits.log_kb << 10;
  options.cancel = plan.cancel;
  options.socket = sockets->worker.get();
  options.input_memory = input->descriptor();
  options.output_memory = output->descriptor();
  auto child = Child::start(child_plan(plan, *staging), std::move(options));
  if (!child) return machine_failure(child.error());
  sockets->worker.reset();
  Session session(std::move(input), std::move(*output), std::move(*child), std::move(sockets->parent), plan.limits.seconds,
                  plan.gpu, std::move(grant));
  if (Checked<Reply> const ready = session.receive(); !ready) {
    // Nothing of the candidate runs yet.
    if (!plan.gpu || ready.error().error) return tl::unexpected(ready.error());
    return machine_failure({ErrorKind::machine, "A worker on the GPU cannot start: " + valid_utf8(session.log())});
  }
  if (clock_getcpuclockid(session.process_, &session.cpu_clock_) != 0) {
    return machine_failure({ErrorKind::machine, "The processor time of a worker cannot be read."});
  }
  if (Checked<void> const measured = session.measure_round_trip(); !measured) return tl::unexpected(measured.error());
  session.device_bytes_limit_ = static_cast<std::uint64_t>(plan.limits.memory_mb) << 20;
  Mount const folder{plan.library_folder, library_inside, false};
  Checked<Timed> const loaded =
      session.exchange(LoadRequest{seen_path(plan.layers, folder) + "/" + plan.library_name, plan.symbols});
  if (!loaded) return tl::unexpected(loaded.error());
  if (auto const* failed = std::get_if<LoadFailedReply>(&loaded->reply)) {
    return candidate_failure(fmt::format("The library cannot be loaded: {}.", valid_utf8(failed->reason)));
  }
  auto const* version = std::get_if<LoadedReply>(&loaded->reply);
  if (version == nullptr) return candidate_failure("The worker answered a load with something else.");
  if (version->version != TIK_ATTENTION_ABI_VERSION) {
    return candidate_failure(fmt::format("{}() says version {} of the contract, but this is version {}.", plan.symbols[4],
                                         version->version, TIK_ATTENTION_ABI_VERSION));
  }
  if (Checked<void> const checked = session.check_gpu_process(); !checked) return tl::unexpected(checked.error());
  session.cost_ = {std::chrono::duration<double>(Clock::now() - begin).count(), 0, 0};
  return session;
}

// Libraries of kernels that are not the candidate's own work, as the worker's memory map names them.
Checked<void> Session::check_gpu_process() const {
  if (!gpu_) return {};
  std::ifstream maps(fmt::format("/proc/{}/maps", process_));
  for (std::string line; std::getline(maps, line);) {
    std::string_view const name = std::string_view(line).substr(line.rfind('/') + 1);
    for (std::string_view const foreign : kernel_libraries) {
      if (!name.starts_with(foreign)) continue;
      return candidate_failure(fmt::format("The candidate uses {}: its kernels must be its own.", valid_utf8(name)));
    }
  }
  return check_device_memory();
}

// Seen from outside: what is taken, by whichever worker, beyond what was there before and what all of them were given.
Checked<void> Session::check_device_memory() const {
  GpuWatch const* const watch = grant_.watch();
  if (watch == nullptr) return {};
  std::uint64_t const allowed = watch->used_before + watch->granted + device_bytes_limit_;
  std::uint64_t const used = watch->monitor.used_bytes();
  if (used <= allowed) return {};
  return candidate_failure(
      fmt::format("The candidate took {} MiB of the GPU's memory beyond the limit of its worker.", (used - allowed) >> 20));
}

// The worker is gone or has to go: how it ended, as a sentence.
tl::unexpected<Failure> Session::ended() {
  Exit const exit = child_.finish(0.5);
  if (exit.cancelled) return machine_failure({ErrorKind::cancelled, "The evaluation was cancelled."});
  if (!exit.launched) {
    return machine_failure({ErrorKind::machine, "A worker could not be started: " + exit.launch_error + "."});
  }
  std::string sentence = "The worker " + describe(exit, limit_seconds_);
  if (fault_ && exit.signal == fault_->signal && fault_->region != Region::none) {
    bool const inputs = fault_->region == Region::input;
    bool const inside = fault_->offset >= 0 && fault_->offset < static_cast<std::int64_t>((inputs ? input() : output()).size());
    sentence += inputs && inside ? " because it wrote to its inputs, which are read-only"
                                 : fmt::format(" at an address {} the memory of its {}", inside ? "in" : "outside",
                                               inputs ? "inputs" : "outputs");
  }
  Json details = {{"signal", exit.signal},
                  {"code", exit.code},
                  {"timed_out", exit.timed_out},
                  {"cpu_seconds", exit.cpu_seconds},
                  {"peak_memory_kb", exit.peak_memory_kb},
                  {"log", valid_utf8(child_.output())}};
  return candidate_failure(sentence + ".", std::move(details));
}

Exit Session::close() {
  socket_.reset();
  return child_.finish(1);
}

Checked<Reply> Session::receive() {
  for (;;) {
    if (child_.wait(socket_.get()) == Child::Event::stopped) return ended();
    std::optional<Packet> const packet = read_packet(socket_.get());
    if (!packet) return ended();
    if (process_ < 0) process_ = packet->sender;
    if (packet->sender != process_) continue; // some other process that got hold of the socket
    Result<Reply> reply = decode_reply(packet->bytes);
    if (!reply) return candidate_failure("The worker answered with bytes that are no message: " + reply.error().message);
    if (auto const* fault = std::get_if<FaultReply>(&*reply)) {
      fault_ = *fault;
      continue; // the end of the process follows
    }
    return std::move(*reply);
  }
}

Checked<Session::Timed> Session::exchange(WorkerRequest const& request) {
  if (++cost_.requests % process_check_period == 0) {
    if (Checked<void> const checked = check_gpu_process(); !checked) return tl::unexpected(checked.error());
  }
  std::string const bytes = encode_request(request);
  double const cpu_before = read_clock_us(cpu_clock_);
  Clock::time_point const before = Clock::now();
  if (send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return ended();
  Checked<Reply> reply = receive();
  if (!reply) return tl::unexpected(std::move(reply.error()));
  double const outside_us = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
  cost_.wait_seconds += 1e-6 * outside_us;
  return Timed{std::move(*reply), outside_us, read_clock_us(cpu_clock_) - cpu_before};
}

Checked<void> Session::measure_round_trip() {
  std::vector<double> outside, cpu;
  for (int i = 0; i < 15; ++i) {
    Checked<Timed> const timed = exchange(PingRequest{});
    if (!timed) return tl::unexpected(timed.error());
    outside.push_back(timed->outside_us);
    cpu.push_back(timed->cpu_us);
  }
  round_trip_ = {median(outside), median(cpu)};
  std::vector<double> replays;
  for (int i = 0; i < 9 && gpu_; ++i) {
    Checked<CallResult> const result = exchange_done(ReplayRequest{0}, "a replay of no graph");
    if (!result) return tl::unexpected(result.error());
    replays.push_back(result->outside_us - 1e-3 * static_cast<double>(result->reply.wall_nanoseconds));
  }
  round_trip_.replay_us = median(std::move(replays));
  return {};
}

Checked<std::int64_t> Session::workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  Checked<Timed> const timed = exchange(WorkspaceRequest{shape, limits});
  if (!timed) return tl::unexpected(timed.error());
  if (auto const* size = std::get_if<WorkspaceReply>(&timed->reply)) return size->bytes;
  return candidate_failure("The worker answered a question for the size of the workspace with something else.");
}

Checked<CallResult> Session::exchange_done(WorkerRequest const& request, std::string const& doing) {
  Checked<Timed> timed = exchange(request);
  if (!timed) return tl::unexpected(std::move(timed.error()));
  if (auto const* failed = std::get_if<LoadFailedReply>(&timed->reply)) {
    return candidate_failure(fmt::format("In {}: {}.", doing, valid_utf8(failed->reason)));
  }
  auto* const done = std::get_if<DoneReply>(&timed->reply);
  if (done == nullptr) return candidate_failure(fmt::format("In {} the worker answered with something else.", doing));
  if (done->status != TIK_OK) {
    return candidate_failure(fmt::format("In {}, status {}: {}", doing, done->status, valid_utf8(done->error)));
  }
  return CallResult{std::move(*done), timed->outside_us, timed->cpu_us};
}

Checked<NodeReply> Session::inspect(InspectRequest const& request) {
  Checked<Timed> timed = exchange(request);
  if (!timed) return tl::unexpected(std::move(timed.error()));
  if (auto* const node = std::get_if<NodeReply>(&timed->reply)) return std::move(*node);
  return candidate_failure("The worker answered a question for a node of a graph with something else.");
}

Checked<CallResult> Session::call(CallRequest const& request) {
  Checked<Timed> timed = exchange(request);
  if (!timed) return tl::unexpected(std::move(timed.error()));
  auto* const done = std::get_if<DoneReply>(&timed->reply);
  if (done == nullptr) return candidate_failure("The worker answered a call with something else.");
  return CallResult{std::move(*done), timed->outside_us, timed->cpu_us};
}

} // namespace tik::evaluator
