// The worker on a GPU. The regions that the parent shares are mirrored in device memory: the same offsets, and the requests say
// what is copied when.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "src/evaluator/cupti.h"
#include "src/evaluator/device.h"
#include "src/evaluator/device_scatter.h"
#include "src/evaluator/loaded_library.h"
#include "src/evaluator/tape.h"
#include "src/evaluator/worker.h"
#include "src/evaluator/worker_memory.h"

namespace tik::evaluator {
namespace {

class DeviceWorker {
 public:
  DeviceWorker(WorkerMemory const& memory, Device device)
      : memory_(memory), device_(std::move(device)), driver_(device_.driver) {}

  Reply serve(PingRequest const&) const { return ReadyReply{}; }
  Reply serve(LoadRequest const& request) {
    Reply reply = library_.load(request);
    // A constructor of the library may have left its own context current, or an error behind.
    Steps step(driver_);
    step("after loading", driver_.CtxSetCurrent(device_.context)) && step("after loading", driver_.CtxSynchronize());
    if (step.failed()) return LoadFailedReply{step.reply().error};
    return reply;
  }
  Reply serve(WorkspaceRequest const& request) const { return library_.workspace(request); }

  Reply serve(CallRequest const& request) {
    Transfer const& transfer = request.transfer;
    Steps step(driver_);
    step("copying the inputs", to_device(device_.input, memory_.input, transfer.input)) &&
        step("copying the outputs' poison", to_device(device_.output, memory_.output, transfer.output));
    if (step.failed()) return step.reply();
    DoneReply reply = transfer.graph ? run_as_graph(request) : run(request);
    if (!step("after the call", driver_.CtxSynchronize())) return step.reply();
    step("copying the outputs back", from_device(memory_.output, device_.output, transfer.result));
    if (transfer.echo != 0 && !step.failed()) {
      Extent const& inputs = transfer.echoed;
      step("copying the inputs back",
           driver_.MemcpyDtoH(memory_.output.base + transfer.echo, device_.input + inputs.begin, inputs.end - inputs.begin));
    }
    return step.failed() ? step.reply() : reply;
  }

  Reply serve(PlanCallRequest const& request) {
    planned_.push_back(request.call);
    return DoneReply{};
  }

  Reply serve(CaptureRequest const& request) {
    std::vector<CallRequest> const calls = std::move(planned_);
    planned_.clear();
    std::size_t const prelude = std::min<std::size_t>(request.prelude, calls.size());
    TimedGraph graph;
    DoneReply reply = capture({calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(prelude)}, graph.prelude, nullptr);
    if (reply.status == TIK_OK) {
      reply = capture({calls.begin() + static_cast<std::ptrdiff_t>(prelude), calls.end()}, graph.timed, &graph.nodes);
    }
    if (reply.status != TIK_OK) return reply;
    graphs_.push_back(std::move(graph));
    reply.wall_nanoseconds = graphs_.size();
    return reply;
  }

  Reply serve(UploadRequest const& request) {
    Steps step(driver_);
    bool const together = request.together && request.copied > 0 && scatter_is_there();
    if (together) {
      step("copying the inputs", scatter_.run(driver_, device_.stream, device_.input, request.table, request.copied));
    }
    for (std::uint64_t i = together ? request.copied : 0; i < request.copied + request.poisoned && !step.failed(); ++i) {
      Extent part;
      std::memcpy(&part, memory_.input.base + request.table + i * sizeof part, sizeof part);
      std::uint64_t const bytes = part.end - part.begin;
      if (i < request.copied) {
        step("copying the inputs",
             driver_.MemcpyHtoDAsync(device_.input + part.begin, memory_.input.base + part.begin, bytes, device_.stream));
      } else {
        step("poisoning the outputs",
             driver_.MemsetD16Async(device_.output + part.begin, request.poison, bytes / 2, device_.stream));
      }
    }
    // Lines that a call before left in a persisting part of the cache, and that part itself: it is not a call's to take, and
    // what fills the cache before a replay would take longer beside it.
    if (!step.failed()) step("resetting the cache", driver_.CtxResetPersistingL2Cache());
    if (!step.failed()) step("resetting the cache", driver_.CtxSetLimit(cuda::persisting_l2_bytes, 0));
    if (!step.failed()) step("waiting for the device", driver_.CtxSynchronize());
    return step.reply();
  }

  // The flush, or the prelude, is still running while the graph is launched, so that the time between the events is the graph's
  // alone.
  Reply serve(ReplayRequest const& request) {
    TimedGraph const* const graph = request.graph == 0 ? nullptr : find(request.graph);
    if (request.graph != 0 && graph == nullptr) return LoadFailedReply{"there is no such graph"};
    Steps step(driver_);
    if (graph != nullptr && graph->prelude != nullptr) {
      step("launching the prelude", driver_.GraphLaunch(graph->prelude, device_.stream));
    } else {
      step("flushing the cache", driver_.MemsetD16Async(device_.flushed, 0, device_.flushed_bytes / 2, device_.stream));
    }
    step("starting the clock", driver_.EventRecord(device_.begin, device_.stream));
    if (graph != nullptr) step("launching the graph", driver_.GraphLaunch(graph->timed, device_.stream));
    step("stopping the clock", driver_.EventRecord(device_.end, device_.stream));
    step("after the graph", driver_.CtxSynchronize());
    float milliseconds = 0;
    if (!step.failed()) step("reading the clock", driver_.EventElapsedTime(&milliseconds, device_.begin, device_.end));
    if (step.failed()) return step.reply();
    DoneReply reply;
    reply.wall_nanoseconds = static_cast<std::uint64_t>(1e6 * static_cast<double>(milliseconds));
    return reply;
  }

  Reply serve(FetchRequest const& request) {
    Steps step(driver_);
    step("copying the outputs back", from_device(memory_.output, device_.output, request.output));
    return step.reply();
  }

  Reply serve(RecordRequest const& request) {
    Result<void> const done = request.on ? recorder_.start() : recorder_.stop();
    if (!done) return LoadFailedReply{done.error().message};
    DoneReply reply;
    reply.error = recorder_.source();
    return reply;
  }

  Reply serve(InspectRequest const& request) {
    if (request.graph == 0) return recorded(request.node);
    TimedGraph const* const graph = find(request.graph);
    if (graph == nullptr) return NodeReply{};
    return describe(*graph, request.node);
  }

 private:
  struct TimedGraph {
    cuda::GraphExec prelude = nullptr, timed = nullptr;
    std::vector<cuda::GraphNode> nodes; // of the timed graph
  };

  TimedGraph const* find(std::uint32_t number) const {
    return number >= 1 && number <= graphs_.size() ? &graphs_[number - 1] : nullptr;
  }

  bool scatter_is_there() {
    if (!scatter_loaded_) scatter_loaded_ = scatter_.load(driver_, memory_.input);
    return *scatter_loaded_;
  }

  cuda::Status to_device(cuda::Pointer device, Mapping const& host, Extent const& part) const {
    if (part.end <= part.begin) return 0;
    return driver_.MemcpyHtoD(device + part.begin, host.base + part.begin, part.end - part.begin);
  }
  cuda::Status from_device(Mapping const& host, cuda::Pointer device, Extent const& part) const {
    if (part.end <= part.begin) return 0;
    return driver_.MemcpyDtoH(host.base + part.begin, device + part.begin, part.end - part.begin);
  }

  DoneReply run(CallRequest const& request) const {
    LoadedLibrary::Entry const entry = library_.entry(request.entry);
    DoneReply reply;
    if (entry == nullptr) {
      reply.status = TIK_DEVICE_ERROR;
      reply.error = "Nothing is loaded.";
      return reply;
    }
    tik_attention_args args = request.args;
    for_each_pointer(args, [&]<class T>(T*& pointer) {
      auto const address = reinterpret_cast<std::uintptr_t>(pointer);
      cuda::Pointer const base = region_of(address) == Region::input ? device_.input : device_.output;
      pointer = address == 0 ? nullptr : reinterpret_cast<T*>(base + offset_of(address));
    });
    args.stream = device_.stream;
    std::uint64_t const wall = nanoseconds(CLOCK_MONOTONIC);
    reply.status = entry(&args);
    reply.wall_nanoseconds = nanoseconds(CLOCK_MONOTONIC) - wall;
    if (reply.status != TIK_OK) reply.error = library_.last_error();
    return reply;
  }

  // Captures calls into one graph and makes it ready; `executable` stays null when there is nothing to capture.
  DoneReply capture(std::vector<CallRequest> const& calls, cuda::GraphExec& executable, std::vector<cuda::GraphNode>* nodes) {
    DoneReply reply;
    if (calls.empty()) return reply;
    Steps step(driver_);
    if (!step("beginning the capture", driver_.StreamBeginCapture(device_.stream, cuda::capture_global))) return step.reply();
    for (CallRequest const& call : calls) {
      reply = run(call);
      if (reply.status != TIK_OK) break;
    }
    cuda::Graph graph = nullptr;
    step("ending the capture", driver_.StreamEndCapture(device_.stream, &graph));
    if (reply.status != TIK_OK) {
      if (graph != nullptr) driver_.GraphDestroy(graph);
      return reply;
    }
    if (step.failed()) return step.reply();
    step("making the graph ready", driver_.GraphInstantiate(&executable, graph, 0)) &&
        step("making the graph ready", driver_.GraphUpload(executable, device_.stream)) &&
        step("making the graph ready", driver_.StreamSynchronize(device_.stream));
    if (nodes != nullptr && !step.failed()) {
      std::size_t count = 0;
      step("reading the graph", driver_.GraphGetNodes(graph, nullptr, &count));
      nodes->resize(count);
      step("reading the graph", driver_.GraphGetNodes(graph, nodes->data(), &count));
    } else {
      driver_.GraphDestroy(graph);
    }
    return step.failed() ? step.reply() : reply;
  }

  // The same call as the one before launches the graph that is there: inputs may have changed under it.
  DoneReply run_as_graph(CallRequest const& request) {
    bool const same = single_ != nullptr && single_request_.entry == request.entry &&
                      std::memcmp(&single_request_.args, &request.args, sizeof request.args) == 0;
    if (!same) {
      if (single_ != nullptr) driver_.GraphExecDestroy(single_);
      single_ = nullptr;
      if (DoneReply reply = capture({request}, single_, nullptr); reply.status != TIK_OK) return reply;
      single_request_ = request;
    }
    Steps step(driver_);
    step("launching the graph", driver_.GraphLaunch(single_, device_.stream));
    return step.reply();
  }

  NodeReply recorded(std::uint32_t number) const {
    NodeReply reply;
    reply.nodes = static_cast<std::uint32_t>(recorder_.kernels().size());
    if (number >= reply.nodes) return reply;
    cuda::KernelRun const& run = recorder_.kernels()[number];
    reply.grid = run.grid;
    reply.block = run.block;
    reply.registers = run.registers;
    reply.static_shared_bytes = run.static_shared_bytes;
    reply.dynamic_shared_bytes = run.dynamic_shared_bytes;
    reply.local_bytes = run.local_bytes;
    reply.nanoseconds = run.nanoseconds;
    reply.name = run.name;
    return reply;
  }

  NodeReply describe(TimedGraph const& graph, std::uint32_t number) const {
    NodeReply reply;
    reply.nodes = static_cast<std::uint32_t>(graph.nodes.size());
    if (number >= graph.nodes.size()) return reply;
    if (driver_.GraphNodeGetType(graph.nodes[number], &reply.type) != 0 || reply.type != cuda::kernel_node) return reply;
    cuda::KernelNode node{};
    if (driver_.GraphKernelNodeGetParams(graph.nodes[number], &node) != 0) return reply;
    std::copy(std::begin(node.grid), std::end(node.grid), reply.grid.begin());
    std::copy(std::begin(node.block), std::end(node.block), reply.block.begin());
    reply.dynamic_shared_bytes = node.dynamic_shared_bytes;
    cuda::Function function = node.function;
    if (function == nullptr && node.kernel != nullptr) driver_.KernelGetFunction(&function, node.kernel);
    if (function == nullptr) return reply;
    auto const attribute = [&](int which) {
      int value = 0;
      driver_.FuncGetAttribute(&value, which, function);
      return static_cast<std::uint32_t>(value);
    };
    reply.static_shared_bytes = attribute(cuda::static_shared_bytes);
    reply.registers = attribute(cuda::registers);
    reply.local_bytes = attribute(cuda::local_bytes);
    int blocks = 0, threads = static_cast<int>(node.block[0] * node.block[1] * node.block[2]);
    driver_.OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, node.dynamic_shared_bytes);
    reply.blocks_a_multiprocessor = static_cast<std::uint32_t>(blocks);
    char const* name = nullptr;
    if (driver_.FuncGetName(&name, function) == 0 && name != nullptr) reply.name = name;
    return reply;
  }

  WorkerMemory memory_;
  Device device_;
  cuda::Driver const& driver_;
  LoadedLibrary library_;
  cuda::KernelRecorder recorder_;
  Scatter scatter_;
  std::optional<bool> scatter_loaded_; // when it was wanted
  std::vector<CallRequest> planned_;
  std::vector<TimedGraph> graphs_;
  cuda::GraphExec single_ = nullptr;
  CallRequest single_request_;
};

} // namespace

int serve_device_requests() {
  std::optional<WorkerMemory> const memory = map_memory();
  if (!memory) return 1;
  watch_faults(*memory);
  Result<Device> device = open_device(memory->input.size, memory->output.size);
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 1;
  }
  DeviceWorker worker(*memory, std::move(*device));
  send_reply(ReadyReply{});
  while (std::optional<WorkerRequest> const request = receive_request()) {
    send_reply(std::visit([&](auto const& message) { return worker.serve(message); }, *request));
  }
  _exit(0); // without the destructors of a library that is not trusted, and of a driver that may hang in them
}

int serve_tape(char const* folder) {
  Result<Tape> tape = read_tape(folder);
  if (!tape) return std::fprintf(stderr, "%s\n", tape.error().message.c_str()), 1;
  Result<Device> device = open_device(tape->memory.input.size, tape->memory.output.size);
  if (!device) return std::fprintf(stderr, "%s\n", device.error().message.c_str()), 1;
  DeviceWorker worker(tape->memory, std::move(*device));
  for (WorkerRequest const& request : tape->requests) {
    Reply const reply = std::visit([&](auto const& message) { return worker.serve(message); }, request);
    auto const* const done = std::get_if<DoneReply>(&reply);
    auto const* const refused = std::get_if<LoadFailedReply>(&reply);
    if (refused != nullptr || (done != nullptr && done->status != TIK_OK)) {
      std::fprintf(stderr, "%s\n", refused != nullptr ? refused->reason.c_str() : done->error.c_str());
      return 1;
    }
  }
  _exit(0); // as above
}

int try_device() {
  Result<Device> const device = open_device(1 << 20, 1 << 20);
  if (device) return 0;
  std::printf("%s\n", device.error().message.c_str());
  std::fflush(stdout);
  return 1;
}

} // namespace tik::evaluator
