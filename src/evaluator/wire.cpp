#include "src/evaluator/wire.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <type_traits>

namespace tik::evaluator {
namespace {

constexpr std::uint32_t magic = 0x314b4954; // "TIK1"
constexpr std::size_t longest_text = 4096;

enum class Kind : std::uint32_t {
  load = 1,
  workspace,
  call,
  ping,
  plan_call,
  capture,
  upload,
  replay,
  fetch,
  inspect,
  record,
  ready = 16,
  loaded,
  load_failed,
  workspace_bytes,
  done,
  fault,
  node
};

class Writer {
 public:
  explicit Writer(Kind kind) {
    value(magic);
    value(std::uint32_t{0}); // the length, known at the end
    value(kind);
  }
  template <class T>
  Writer& value(T const& item) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<char const*>(&item), sizeof item);
    return *this;
  }
  Writer& text(std::string_view item) {
    item = item.substr(0, longest_text);
    value(static_cast<std::uint32_t>(item.size()));
    bytes_.append(item);
    return *this;
  }
  std::string finish() {
    auto const length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + sizeof magic, &length, sizeof length);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

// Reads values off the front; after the first that is not there everything reads as zero and complete() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T item{};
    if (bytes_.size() < sizeof item) {
      short_ = true;
      bytes_ = {};
      return item;
    }
    std::memcpy(&item, bytes_.data(), sizeof item);
    bytes_.remove_prefix(sizeof item);
    return item;
  }
  std::string text() {
    auto const length = value<std::uint32_t>();
    if (length > longest_text || length > bytes_.size()) {
      short_ = true;
      return {};
    }
    std::string item(bytes_.substr(0, length));
    bytes_.remove_prefix(length);
    return item;
  }
  bool flag() {
    auto const byte = value<std::uint8_t>();
    if (byte > 1) short_ = true; // one value has one form only
    return byte == 1;
  }
  bool complete() const { return !short_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool short_ = false;
};

// The kind of a message whose frame is right.
Result<Kind> open_message(Reader& reader, std::size_t size) {
  auto const mark = reader.value<std::uint32_t>();
  auto const length = reader.value<std::uint32_t>();
  auto const kind = reader.value<std::uint32_t>();
  if (mark != magic) return input_error("The message does not begin like one.");
  if (length != size || size > largest_message) {
    return input_error(fmt::format("The message says it has {} bytes, but {} came.", length, size));
  }
  return static_cast<Kind>(kind);
}

template <class Variant, class T>
Result<Variant> finish(Reader const& reader, T message) {
  if (!reader.complete()) return input_error("The message is shorter or longer than its kind.");
  return Variant(std::move(message));
}

std::string encode(PingRequest const&) { return Writer(Kind::ping).finish(); }
std::string encode(LoadRequest const& request) {
  Writer writer(Kind::load);
  writer.text(request.library);
  for (std::string const& symbol : request.symbols) writer.text(symbol);
  return writer.finish();
}
std::string encode(WorkspaceRequest const& request) {
  return Writer(Kind::workspace).value(request.shape).value(request.limits).finish();
}
// Part by part: a struct as a whole has padding, whose bytes are not defined.
Writer& write_call(Writer& writer, CallRequest const& request) {
  Transfer const& transfer = request.transfer;
  return writer.value(request.entry)
      .value(request.args)
      .value(transfer.input)
      .value(transfer.output)
      .value(transfer.result)
      .value(transfer.echoed)
      .value(transfer.echo)
      .value(static_cast<std::uint8_t>(transfer.graph));
}
CallRequest read_call(Reader& reader) {
  CallRequest request;
  request.entry = reader.value<spec::WorkloadKind>();
  request.args = reader.value<tik_attention_args>();
  Transfer& transfer = request.transfer;
  transfer.input = reader.value<Extent>();
  transfer.output = reader.value<Extent>();
  transfer.result = reader.value<Extent>();
  transfer.echoed = reader.value<Extent>();
  transfer.echo = reader.value<std::uint64_t>();
  transfer.graph = reader.flag();
  return request;
}
std::string encode(CallRequest const& request) {
  Writer writer(Kind::call);
  return write_call(writer, request).finish();
}
std::string encode(PlanCallRequest const& request) {
  Writer writer(Kind::plan_call);
  return write_call(writer, request.call).finish();
}
std::string encode(CaptureRequest const& request) { return Writer(Kind::capture).value(request.prelude).finish(); }
std::string encode(UploadRequest const& request) {
  return Writer(Kind::upload)
      .value(request.table)
      .value(request.copied)
      .value(request.poisoned)
      .value(request.poison)
      .value(static_cast<std::uint8_t>(request.together))
      .finish();
}
std::string encode(ReplayRequest const& request) { return Writer(Kind::replay).value(request.graph).finish(); }
std::string encode(FetchRequest const& request) { return Writer(Kind::fetch).value(request.output).finish(); }
std::string encode(InspectRequest const& request) {
  return Writer(Kind::inspect).value(request.graph).value(request.node).finish();
}
std::string encode(RecordRequest const& request) {
  return Writer(Kind::record).value(static_cast<std::uint8_t>(request.on)).finish();
}
std::string encode(ReadyReply const&) { return Writer(Kind::ready).finish(); }
std::string encode(LoadedReply const& reply) { return Writer(Kind::loaded).value(reply.version).finish(); }
std::string encode(LoadFailedReply const& reply) { return Writer(Kind::load_failed).text(reply.reason).finish(); }
std::string encode(WorkspaceReply const& reply) { return Writer(Kind::workspace_bytes).value(reply.bytes).finish(); }
std::string encode(DoneReply const& reply) {
  return Writer(Kind::done)
      .value(reply.status)
      .value(reply.cpu_nanoseconds)
      .value(reply.wall_nanoseconds)
      .text(reply.error)
      .finish();
}
std::string encode(FaultReply const& reply) {
  return Writer(Kind::fault).value(reply.signal).value(reply.region).value(reply.offset).finish();
}
std::string encode(NodeReply const& reply) {
  return Writer(Kind::node)
      .value(reply.nodes)
      .value(reply.type)
      .value(reply.grid)
      .value(reply.block)
      .value(reply.dynamic_shared_bytes)
      .value(reply.static_shared_bytes)
      .value(reply.registers)
      .value(reply.local_bytes)
      .value(reply.blocks_a_multiprocessor)
      .value(reply.nanoseconds)
      .text(reply.name)
      .finish();
}

} // namespace

std::string encode_request(WorkerRequest const& request) {
  return std::visit([](auto const& message) { return encode(message); }, request);
}

std::string encode_reply(Reply const& reply) {
  return std::visit([](auto const& message) { return encode(message); }, reply);
}

Result<WorkerRequest> decode_request(std::string_view bytes) {
  Reader reader(bytes);
  TIK_TRY(Kind const kind, open_message(reader, bytes.size()));
  switch (kind) {
    case Kind::ping:
      return finish<WorkerRequest>(reader, PingRequest{});
    case Kind::load: {
      LoadRequest request;
      request.library = reader.text();
      for (std::string& symbol : request.symbols) symbol = reader.text();
      return finish<WorkerRequest>(reader, std::move(request));
    }
    case Kind::workspace: {
      WorkspaceRequest request{};
      request.shape = reader.value<tik_attention_shape>();
      request.limits = reader.value<tik_attention_limits>();
      return finish<WorkerRequest>(reader, request);
    }
    case Kind::call:
      return finish<WorkerRequest>(reader, read_call(reader));
    case Kind::plan_call:
      return finish<WorkerRequest>(reader, PlanCallRequest{read_call(reader)});
    case Kind::capture:
      return finish<WorkerRequest>(reader, CaptureRequest{reader.value<std::uint32_t>()});
    case Kind::upload: {
      UploadRequest request;
      request.table = reader.value<std::uint64_t>();
      request.copied = reader.value<std::uint64_t>();
      request.poisoned = reader.value<std::uint64_t>();
      request.poison = reader.value<std::uint16_t>();
      request.together = reader.flag();
      return finish<WorkerRequest>(reader, request);
    }
    case Kind::replay:
      return finish<WorkerRequest>(reader, ReplayRequest{reader.value<std::uint32_t>()});
    case Kind::fetch:
      return finish<WorkerRequest>(reader, FetchRequest{reader.value<Extent>()});
    case Kind::inspect: {
      InspectRequest request;
      request.graph = reader.value<std::uint32_t>();
      request.node = reader.value<std::uint32_t>();
      return finish<WorkerRequest>(reader, request);
    }
    case Kind::record:
      return finish<WorkerRequest>(reader, RecordRequest{reader.flag()});
    default:
      return input_error("The message is no request.");
  }
}

Result<Reply> decode_reply(std::string_view bytes) {
  Reader reader(bytes);
  TIK_TRY(Kind const kind, open_message(reader, bytes.size()));
  switch (kind) {
    case Kind::ready:
      return finish<Reply>(reader, ReadyReply{});
    case Kind::loaded:
      return finish<Reply>(reader, LoadedReply{reader.value<std::int32_t>()});
    case Kind::load_failed:
      return finish<Reply>(reader, LoadFailedReply{reader.text()});
    case Kind::workspace_bytes:
      return finish<Reply>(reader, WorkspaceReply{reader.value<std::int64_t>()});
    case Kind::done: {
      DoneReply reply;
      reply.status = reader.value<std::int32_t>();
      reply.cpu_nanoseconds = reader.value<std::uint64_t>();
      reply.wall_nanoseconds = reader.value<std::uint64_t>();
      reply.error = reader.text();
      return finish<Reply>(reader, std::move(reply));
    }
    case Kind::fault: {
      FaultReply reply;
      reply.signal = reader.value<std::int32_t>();
      auto const region = reader.value<std::uint8_t>();
      if (region > static_cast<std::uint8_t>(Region::output))
        return input_error("The message names a region that is not there.");
      reply.region = static_cast<Region>(region);
      reply.offset = reader.value<std::int64_t>();
      return finish<Reply>(reader, reply);
    }
    case Kind::node: {
      NodeReply reply;
      reply.nodes = reader.value<std::uint32_t>();
      reply.type = reader.value<std::int32_t>();
      reply.grid = reader.value<std::array<std::uint32_t, 3>>();
      reply.block = reader.value<std::array<std::uint32_t, 3>>();
      reply.dynamic_shared_bytes = reader.value<std::uint32_t>();
      reply.static_shared_bytes = reader.value<std::uint32_t>();
      reply.registers = reader.value<std::uint32_t>();
      reply.local_bytes = reader.value<std::uint32_t>();
      reply.blocks_a_multiprocessor = reader.value<std::uint32_t>();
      reply.nanoseconds = reader.value<std::uint64_t>();
      reply.name = reader.text();
      return finish<Reply>(reader, std::move(reply));
    }
    default:
      return input_error("The message is no reply.");
  }
}

} // namespace tik::evaluator
