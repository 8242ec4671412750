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
  ready = 16,
  loaded,
  load_failed,
  workspace_bytes,
  done,
  fault
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
std::string encode(CallRequest const& request) { return Writer(Kind::call).value(request.entry).value(request.args).finish(); }
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
    case Kind::call: {
      CallRequest request;
      request.entry = reader.value<spec::WorkloadKind>();
      request.args = reader.value<tik_attention_args>();
      return finish<WorkerRequest>(reader, request);
    }
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
    default:
      return input_error("The message is no reply.");
  }
}

} // namespace tik::evaluator
