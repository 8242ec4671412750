// One worker with one loaded candidate, seen from the parent.
#pragma once

#include <memory>
#include <optional>

#include "src/evaluator/failure.h"
#include "src/evaluator/nvml.h"
#include "src/evaluator/process.h"
#include "src/evaluator/shared_memory.h"
#include "src/evaluator/wire.h"
#include "src/spec/manifest.h"

namespace tik::evaluator {

// What a worker is started with.
struct SessionPlan {
  std::filesystem::path library_folder; // holds the built library; the worker sees nothing else of the candidate
  std::string library_name;
  std::array<std::string, 5> symbols; // full, extend, decode, workspace, version
  std::filesystem::path scratch;      // for the private file system; several workers may share it
  Layers layers;
  spec::ProcessLimits limits;
  std::size_t input_bytes = 0, output_bytes = 0;
  std::shared_ptr<SharedMemory> shared_inputs; // `input_bytes` of them, instead of inputs of its own
  std::optional<int> processor;
  bool gpu = false;          // the worker runs calls on a GPU, in memory of its own
  int gpu_number = 0;        // which one, as nvidia-smi numbers them
  GpuWatch* watch = nullptr; // says how much memory of the GPU is taken; null: not known
  std::atomic<bool> const* cancel = nullptr;
};

std::array<std::string, 5> symbols_of(spec::Manifest const& manifest);

// What a message that asks for nothing costs: the least that lies between a call's time inside and outside the worker.
struct RoundTrip {
  double outside_us = 0, cpu_us = 0; // medians, taken before the candidate was loaded
  double replay_us = 0;              // on a GPU: of a replay of no graph, from outside
};

// What a worker cost the parent.
struct SessionCost {
  double start_seconds = 0; // until the candidate was loaded
  double wait_seconds = 0;  // for its replies
  int requests = 0;
};

struct CallResult {
  DoneReply reply;
  double outside_us = 0; // from sending the request to having the reply, by the parent's clock
  double cpu_us = 0;     // processor time of the worker in between, read from outside
};

class Session {
 public:
  // Starts a worker and loads the candidate. A library that cannot be loaded, or that lies about its version, is a candidate
  // failure.
  static Checked<Session> start(SessionPlan const& plan);

  // Executes one call. The candidate's failure when the worker dies, hangs or answers with nonsense.
  Checked<CallResult> call(CallRequest const& request);
  Checked<std::int64_t> workspace_bytes(tik_attention_shape const& shape, tik_attention_limits const& limits);

  // The further requests of a worker on a GPU (wire.h). A DoneReply with another status than TIK_OK is the candidate's failure.
  Checked<CallResult> exchange_done(WorkerRequest const& request, std::string const& doing);
  Checked<NodeReply> inspect(InspectRequest const& request);
  bool gpu() const { return gpu_; }

  // Lets the worker end by itself and says what it used.
  Exit close();

  std::span<std::byte> input() const { return input_->bytes(); }
  std::span<std::byte> output() const { return output_.bytes(); }
  pid_t process() const { return process_; }
  RoundTrip const& round_trip() const { return round_trip_; }
  SessionCost const& cost() const { return cost_; }
  // What the worker printed.
  std::string const& log() const { return child_.output(); }

 private:
  Session(std::shared_ptr<SharedMemory> input, SharedMemory output, Child child, Descriptor socket, double limit_seconds,
          bool gpu, GpuGrant grant)
      : grant_(std::move(grant)),
        input_(std::move(input)),
        output_(std::move(output)),
        child_(std::move(child)),
        socket_(std::move(socket)),
        limit_seconds_(limit_seconds),
        gpu_(gpu) {}
  // Sends a request and waits for its reply, timed from outside.
  struct Timed {
    Reply reply;
    double outside_us = 0, cpu_us = 0;
  };
  Checked<Timed> exchange(WorkerRequest const& request);
  Checked<void> measure_round_trip();
  Checked<void> check_gpu_process() const;
  Checked<void> check_device_memory() const;
  Checked<Reply> receive();
  tl::unexpected<Failure> ended();

  GpuGrant grant_; // given back when the process, below, has ended
  std::shared_ptr<SharedMemory> input_;
  SharedMemory output_;
  Child child_;
  Descriptor socket_;
  double limit_seconds_;
  bool gpu_;
  pid_t process_ = -1;
  clockid_t cpu_clock_ = 0;
  RoundTrip round_trip_;
  std::optional<FaultReply> fault_;
  std::uint64_t device_bytes_limit_ = 0; // of the GPU's memory beyond what workers were given
  SessionCost cost_;
};

} // namespace tik::evaluator
