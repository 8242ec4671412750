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
// Every pointer of `args` is an address as above.
struct CallRequest {
  spec::WorkloadKind entry = spec::WorkloadKind::full;
  tik_attention_args args{};
};
using WorkerRequest = std::variant<PingRequest, LoadRequest, WorkspaceRequest, CallRequest>;

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
using Reply = std::variant<ReadyReply, LoadedReply, LoadFailedReply, WorkspaceReply, DoneReply, FaultReply>;

std::string encode_request(WorkerRequest const& request);
Result<WorkerRequest> decode_request(std::string_view bytes);
std::string encode_reply(Reply const& reply);
// Accepts any bytes; the error says what is wrong with them.
Result<Reply> decode_reply(std::string_view bytes);

} // namespace tik::evaluator
