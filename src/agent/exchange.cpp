#include "src/agent/exchange.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/agent/tokens.h"
#include "src/base/files.h"

namespace tik::agent {
namespace {

constexpr char const* kept_headers[] = {"retry-after", "retry-after-ms", "x-should-retry",
                                        "request-id",  "x-request-id",   "content-type"};

Json to_json(Exchange const& exchange) {
  Json headers = Json::object();
  for (auto const& [name, value] : exchange.headers) headers[name] = value;
  return {{"exchange", exchange.number}, {"purpose", exchange.purpose},   {"request", exchange.request},
          {"status", exchange.status},   {"headers", std::move(headers)}, {"body", exchange.body},
          {"failure", exchange.failure}};
}

Result<Exchange> exchange_from(Json const& json, std::string const& place) {
  JsonFields fields(json, place);
  Exchange exchange;
  exchange.number = fields.integer("exchange", 1, INT64_C(1) << 40);
  exchange.purpose = fields.text("purpose");
  exchange.request = fields.value("request");
  exchange.status = static_cast<long>(fields.integer("status", 0, 999));
  Json const headers = fields.object("headers");
  for (auto const& [name, value] : headers.items())
    if (value.is_string()) exchange.headers[name] = value.get<std::string>();
  exchange.body = fields.text("body");
  exchange.failure = fields.text("failure");
  return fields.finish(std::move(exchange));
}

// Every line of the file that is whole.
Result<std::vector<Json>> lines_of(std::filesystem::path const& file) {
  TIK_TRY(std::string const text, read_file(file));
  std::vector<Json> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = text.find('\n', begin);
    if (end == std::string::npos) break; // a crash cut it off
    if (end > begin) {
      TIK_TRY(lines.emplace_back(), parse_json(std::string_view(text).substr(begin, end - begin),
                                               fmt::format("{}: line {}", file.string(), lines.size() + 1)));
    }
    begin = end + 1;
  }
  return lines;
}

} // namespace

std::string blotted(std::string text, std::string const& key) {
  constexpr std::string_view blot = "(key)";
  if (key.empty()) return text;
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += blot.size())
    text.replace(at, key.size(), blot);
  return text;
}

Result<ExchangeLog> ExchangeLog::open(std::filesystem::path const& file) {
  ExchangeLog log;
  log.file_ = file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return log;
  TIK_TRY(std::vector<Json> const lines, lines_of(file));
  for (Json const& line : lines) {
    std::int64_t const number = line.value("begin", line.value("exchange", std::int64_t{0}));
    log.last_ = std::max(log.last_, number);
    if (line.contains("begin"))
      log.earlier_.push_back({number, line.value("estimated_input_tokens", std::int64_t{0}), line.value("purpose", "")});
  }
  // A line that was cut off is ended, so that the next one starts on its own.
  TIK_TRY(std::string const text, read_file(file));
  if (!text.empty() && !text.ends_with('\n')) {
    std::filesystem::resize_file(file, text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1, error);
    if (error)
      return machine_error(
          fmt::format("{}: its last line, which is cut off, cannot be removed: {}.", file.string(), error.message()));
  }
  return log;
}

Result<void> ExchangeLog::append(Json const& line) const {
  std::string const text = dump_json(line) + '\n';
  int const descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return machine_error(fmt::format("{}: cannot be opened for writing: {}.", file_.string(), std::strerror(errno)));
  bool written = true;
  for (std::size_t at = 0; written && at < text.size();) {
    ssize_t const count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    written = count > 0;
    if (written) at += static_cast<std::size_t>(count);
  }
  int const failure = errno;
  ::close(descriptor);
  if (!written) return machine_error(fmt::format("{}: cannot be written: {}.", file_.string(), std::strerror(failure)));
  return {};
}

Result<std::int64_t> ExchangeLog::begin(std::string const& purpose, std::int64_t estimated_input_tokens) {
  ++last_;
  TIK_CHECK(append({{"begin", last_}, {"purpose", purpose}, {"estimated_input_tokens", estimated_input_tokens}}));
  return last_;
}

Result<void> ExchangeLog::end(Exchange const& exchange) { return append(to_json(exchange)); }

Result<std::deque<Exchange>> read_exchanges(std::filesystem::path const& file) {
  TIK_TRY(std::vector<Json> const lines, lines_of(file));
  std::deque<Exchange> exchanges;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].is_object() && lines[i].contains("begin")) continue;
    TIK_TRY(Exchange exchange, exchange_from(lines[i], fmt::format("{}: line {}", file.string(), i + 1)));
    exchanges.push_back(std::move(exchange));
  }
  return exchanges;
}

namespace {

class LiveTransport : public Transport {
 public:
  LiveTransport(ExchangeLog& log, std::string key) : log_(log), key_(std::move(key)) {}

  Result<Exchange> send(HttpRequest request, std::string const& purpose, Json const& body) override {
    Exchange exchange;
    request.body = dump_json(body);
    TIK_TRY(exchange.number, log_.begin(purpose, estimated_tokens(request.body.size())));
    exchange.purpose = purpose;
    exchange.request = body;
    auto const take = std::move(request.on_body);
    request.on_body = [&](std::string_view piece) {
      exchange.body += piece;
      return take(piece);
    };
    TIK_TRY(HttpReply const reply, post(request));
    exchange.status = reply.status;
    for (char const* const name : kept_headers)
      if (auto const found = reply.headers.find(name); found != reply.headers.end())
        exchange.headers[name] = blotted(found->second, key_);
    exchange.failure = blotted(reply.cancelled                          ? "cancelled"
                               : reply.stopped && reply.failure.empty() ? "stopped reading"
                                                                        : reply.failure,
                               key_);
    exchange.body = blotted(std::move(exchange.body), key_);
    if (!key_.empty() && dump_json(body).find(key_) != std::string::npos)
      exchange.request = "(it held the key, and is not kept)";
    TIK_CHECK(log_.end(exchange));
    return exchange;
  }

 private:
  ExchangeLog& log_;
  std::string key_;
};

class ReplayTransport : public Transport {
 public:
  ReplayTransport(std::filesystem::path file, std::map<std::string, std::deque<Exchange>> exchanges)
      : file_(std::move(file)), exchanges_(std::move(exchanges)) {}

  Result<Exchange> send(HttpRequest request, std::string const& purpose, Json const& body) override {
    std::deque<Exchange>& queue = exchanges_[purpose];
    if (queue.empty())
      return tl::unexpected(
          Error{ErrorKind::cancelled,
                fmt::format("{}: the recording has no further answer for the purpose {}.", file_.string(), purpose)});
    Exchange exchange = std::move(queue.front());
    queue.pop_front();
    exchange.request = body;
    request.on_body(exchange.body);
    return exchange;
  }

 private:
  std::filesystem::path file_;
  std::map<std::string, std::deque<Exchange>> exchanges_;
};

} // namespace

std::unique_ptr<Transport> make_live_transport(ExchangeLog& log, std::string key) {
  return std::make_unique<LiveTransport>(log, std::move(key));
}

Result<std::unique_ptr<Transport>> make_replay_transport(std::filesystem::path const& file) {
  TIK_TRY(std::deque<Exchange> exchanges, read_exchanges(file));
  std::map<std::string, std::deque<Exchange>> queues;
  for (Exchange& exchange : exchanges) queues[exchange.purpose].push_back(std::move(exchange));
  return std::make_unique<ReplayTransport>(file, std::move(queues));
}

} // namespace tik::agent
