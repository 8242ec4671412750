// What parent and worker say to each other: one message a packet of a SOCK_SEQPACKET socket, little-endian, every packet with
// its own length and kind. Replies come from a process that may be hostile: decode_reply() is a pure function that accepts any
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "operators/attention/contract.h"
#include "src/base/error.h"
#include "src/spec/specification.h"

namespace tik::evaluator {

inline constexpr std::size_t largest_message = 8192; // bytes; longer texts are cut before they are sent

// Pointers in a CallRequest are names of shared memory: which region, and the offset in it. 0 stands for NULL.
enum class Region : std::uint8_t { none = 0, input = 1, output = 2 };
constexpr std::uint64_t address_in(Region region, std::uint64_t offset) {
  return static_cast<std::uint64_t>(region) << 56 | offset;
}
constexpr Region region_of(std::uint64_t address) { return static_cast<Region>(address >> 56); }
constexpr std::uint64_t offset_of(std::uint64_t address) { return address & ((std::uint64_t{1} << 56) - 1); }

// Asks for nothing but an answer: what a message costs.
struct PingRequest {};
// Loads a shared library and finds the five functions of the contract in it.
struct LoadRequest {
  std::string library;
  std::array<std::string, 5> symbols; // full, extend, decode, workspace, version
};
struct WorkspaceRequest {
  tik_attention_shape shape;
  tik_attention_limits limits;
};
// A part of a region, as offsets in it.
struct Extent {
  std::uint64_t begin = 0, end = 0;
};
// For a worker whose calls work on device memory, which mirrors the regions: what is copied around a call. A worker on the CPU
// has the regions themselves and looks at none of this.
struct Transfer {
  Extent input, output;   // to the device, before
  Extent result;          // of the output region, back from the device, after
  Extent echoed;          // of the input region on the device: copied back after the call ...
  std::uint64_t echo = 0; // ... to this place in the output region; 0: not at all
  bool graph = false;     // captured into a CUDA graph and launched as one; the same call again launches the same graph
};
// Every pointer of `args` is an address as above.
struct CallRequest {
  spec::WorkloadKind entry = spec::WorkloadKind::full;
  tik_attention_args args{};
  Transfer transfer;
};

// The following are for workers on a GPU. A timed graph is a list of calls: they are planned one by one, then captured
// together.
struct PlanCallRequest {
  CallRequest call;
};
// Captures the calls planned since the last capture: the first `prelude` of them into a graph of their own, which runs before
// the timed one to fill the caches. Answered with the number of the timed graph as DoneReply::wall_nanoseconds.
struct CaptureRequest {
  std::uint32_t prelude = 0;
};
// Copies pieces of the input region to the device, and fills parts of the output region there with the 16-bit `poison`. The
// pieces are `copied` Extents at `table` in the input region, and the parts `poisoned` Extents after them. With `together` the
// device reads all pieces at once: the region is written throughout, and pieces begin and end at multiples of 16 bytes.
struct UploadRequest {
  std::uint64_t table = 0, copied = 0, poisoned = 0;
  std::uint16_t poison = 0;
  bool together = false;
};
// Launches a timed graph after its prelude, or after writing over the whole second-level cache. DoneReply::wall_nanoseconds is
// the time of the graph by the device's clock. Number 0 is no graph: it times nothing, and says what everything else costs.
struct ReplayRequest {
  std::uint32_t graph = 0;
};
// Copies a part of the output region back from the device.
struct FetchRequest {
  Extent output;
};
// Asks for one node of a timed graph, or, of graph 0, for one of the kernels that were recorded.
struct InspectRequest {
  std::uint32_t graph = 0, node = 0;
};
// Begins or ends a recording of all kernels that run. Ending it is answered with a sentence as DoneReply::error: by what they
// were recorded. Answered with LoadFailedReply when the machine has no means to record.
struct RecordRequest {
  bool on = false;
};
using WorkerRequest = std::variant<PingRequest, LoadRequest, WorkspaceRequest, CallRequest, PlanCallRequest, CaptureRequest,
                                   UploadRequest, ReplayRequest, FetchRequest, InspectRequest, RecordRequest>;

struct ReadyReply {};
struct LoadedReply {
  std::int32_t version = 0;
};
struct LoadFailedReply {
  std::string reason;
};
struct WorkspaceReply {
  std::int64_t bytes = 0;
};
struct DoneReply {
  std::int32_t status = 0;
  std::uint64_t cpu_nanoseconds = 0, wall_nanoseconds = 0; // of the call, by the worker's clocks
  std::string error;                                       // tik_attention_last_error(), for a status other than TIK_OK
};
struct FaultReply {
  std::int32_t signal = 0;
  Region region = Region::none; // where the faulting address lies, as far as it is in shared memory or just beside it
  std::int64_t offset = 0;
};
// A node of a captured graph, as the driver describes it, or a kernel that ran, as CUPTI does.
struct NodeReply {
  std::uint32_t nodes = 0; // of the whole graph or recording; 0: no such graph
  std::int32_t type = 0;   // CU_GRAPH_NODE_TYPE_...; everything below is for kernels only
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t dynamic_shared_bytes = 0, static_shared_bytes = 0, registers = 0, local_bytes = 0;
  std::uint32_t blocks_a_multiprocessor = 0; // that can be resident at once; 0: not known
  std::uint64_t nanoseconds = 0;             // of a kernel that ran
  std::string name;                          // mangled
};
using Reply = std::variant<ReadyReply, LoadedReply, LoadFailedReply, WorkspaceReply, DoneReply, FaultReply, NodeReply>;

std::string encode_request(WorkerRequest const& request);
Result<WorkerRequest> decode_request(std::string_view bytes);
std::string encode_reply(Reply const& reply);
// Accepts any bytes; the error says what is wrong with them.
Result<Reply> decode_reply(std::string_view bytes);

} // namespace tik::evaluator
