#include "src/evaluator/worker.h"

#include "src/evaluator/evaluator.h"
#include "src/evaluator/launcher.h"
#include "src/evaluator/loaded_library.h"
#include "src/evaluator/tape.h"
#include "src/evaluator/worker_memory.h"

namespace tik::evaluator {
namespace {

class Worker {
 public:
  explicit Worker(WorkerMemory const& memory) : memory_(memory) {}

  Reply serve(PingRequest const&) const { return ReadyReply{}; }
  Reply serve(LoadRequest const& request) { return library_.load(request); }
  Reply serve(WorkspaceRequest const& request) const { return library_.workspace(request); }

  Reply serve(CallRequest const& request) const {
    LoadedLibrary::Entry const entry = library_.entry(request.entry);
    if (entry == nullptr) return LoadFailedReply{"nothing is loaded"};
    tik_attention_args args = request.args;
    for_each_pointer(args, [&]<class T>(T*& pointer) { resolve(pointer); });
    DoneReply reply;
    std::uint64_t const wall = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    reply.status = entry(&args);
    reply.cpu_nanoseconds = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    reply.wall_nanoseconds = nanoseconds(CLOCK_MONOTONIC) - wall;
    if (reply.status != TIK_OK) reply.error = library_.last_error();
    return reply;
  }

  // What only a GPU has.
  template <class Request>
  Reply serve(Request const&) const {
    return LoadFailedReply{"this worker has no GPU"};
  }

 private:
  template <class T>
  void resolve(T*& pointer) const {
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    Mapping const& mapping = region_of(address) == Region::input ? memory_.input : memory_.output;
    pointer = address == 0 ? nullptr : reinterpret_cast<T*>(mapping.base + offset_of(address));
  }

  WorkerMemory memory_;
  LoadedLibrary library_;
};

} // namespace

int serve_requests() {
  std::optional<WorkerMemory> const memory = map_memory();
  if (!memory) return 1;
  watch_faults(*memory);
  Worker worker(*memory);
  send_reply(ReadyReply{});
  while (std::optional<WorkerRequest> const request = receive_request()) {
    send_reply(std::visit([&](auto const& message) { return worker.serve(message); }, *request));
  }
  return 0;
}

int worker_main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[2]) == tape_role) return serve_tape(argv[3]);
  launch();
}

} // namespace tik::evaluator
