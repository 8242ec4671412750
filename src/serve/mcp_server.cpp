// How messages travel: one thread reads, so that a cancellation is heard while a tool works in the other.
#include "src/serve/mcp_server.h"

#include <condition_variable>
#include <deque>
#include <thread>

#include "src/serve/mcp_methods.h"

namespace tik::serve {
namespace {

constexpr std::size_t longest_line = 8 << 20;
constexpr std::string_view stages[] = {"build", "consistency", "accuracy", "robustness", "measurement", "evidence"};

bool is_request(Json const& message) { return message.is_object() && message.contains("method") && message.contains("id"); }

Json params_of(Json const& message) { return message.contains("params") ? message["params"] : Json::object(); }

class Server {
 public:
  Server(agent::SearchDesk& desk, McpOptions const& options, std::ostream& out)
      : desk_(desk), methods_(desk, options), writer_(out) {
    desk_.on_progress([this](std::string_view stage, double fraction) { report_progress(stage, fraction); });
  }

  void run(std::istream& in) {
    std::thread worker([this] { work(); });
    std::string line;
    while (std::getline(in, line)) read(line);
    {
      std::lock_guard const lock(mutex_);
      ended_ = true;
      queue_.clear();
    }
    desk_.cancel();
    wake_.notify_all();
    worker.join();
    desk_.on_progress({});
  }

 private:
  void read(std::string const& line) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    auto message = line.size() > longest_line ? Result<Json>(input_error("The message is longer than 8 MiB."))
                                              : parse_json(line, "message");
    if (!message) return writer_.send(response(nullptr, RpcError{parse_error, message.error().message, nullptr}));
    if (message->is_object() && message->contains("method") && !message->contains("id")) return notified(*message);
    std::lock_guard const lock(mutex_);
    queue_.push_back(std::move(*message));
    wake_.notify_one();
  }

  void notified(Json const& message) {
    if (message["method"] != "notifications/cancelled") return;
    Json const params = params_of(message);
    if (!params.is_object() || !params.contains("requestId")) return;
    std::lock_guard const lock(mutex_);
    Json const& id = params["requestId"];
    std::erase_if(queue_, [&](Json const& waiting) { return is_request(waiting) && waiting["id"] == id; });
    if (current_ != id || current_.is_null()) return;
    cancelled_ = true;
    desk_.cancel();
  }

  void work() {
    for (;;) {
      Json message;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ended_ || !queue_.empty(); });
        if (ended_) return;
        message = std::move(queue_.front());
        queue_.pop_front();
      }
      if (!message.is_array()) {
        if (Json const answer = answered(message); !answer.is_null()) writer_.send(answer);
        continue;
      }
      Json answers = Json::array(); // batches are part of version 2025-03-26
      for (Json const& element : message)
        if (Json const answer = answered(element); !answer.is_null()) answers.push_back(answer);
      if (message.empty()) writer_.send(response(nullptr, RpcError{invalid_request, "The batch is empty.", nullptr}));
      if (!answers.empty()) writer_.send(answers);
    }
  }

  // The response; null where none is to be sent.
  Json answered(Json const& message) {
    if (message.is_object() && !message.contains("method") && message.contains("id"))
      return nullptr; // a response: nothing was asked
    if (message.is_object() && message.contains("method") && !message.contains("id")) return nullptr;
    bool const well_formed = is_request(message) && message["method"].is_string() &&
                             (message["id"].is_string() || message["id"].is_number_integer()) &&
                             message.value("jsonrpc", Json()) == Json("2.0");
    if (!well_formed)
      return response(nullptr,
                      RpcError{invalid_request,
                               "A request has jsonrpc \"2.0\", a method, and an id that is a string or an integer.", nullptr});
    Json const params = params_of(message), id = message["id"];
    auto const era = methods_.era_of(params);
    if (!era) return response(id, era.error());
    begin(id, params);
    RpcResult result = methods_.call(message["method"].get<std::string>(), params, *era);
    if (finish()) return nullptr; // cancelled: no response may follow
    return result ? response(id, std::move(*result)) : response(id, result.error());
  }

  void begin(Json const& id, Json const& params) {
    std::lock_guard const lock(mutex_);
    current_ = id;
    cancelled_ = false;
    desk_.begin_call();
    progress_ = -1;
    token_ = params.is_object() && params.contains("_meta") && params["_meta"].is_object()
                 ? params["_meta"].value("progressToken", Json())
                 : Json();
  }

  // True when the request was cancelled.
  bool finish() {
    std::lock_guard const lock(mutex_);
    current_ = token_ = nullptr;
    return cancelled_;
  }

  // Progress grows by one with every stage of an audit.
  void report_progress(std::string_view stage, double fraction) {
    std::lock_guard const lock(mutex_);
    if (token_.is_null() || cancelled_) return;
    double progress = std::min(fraction, 1.0);
    for (std::string_view const known : stages) {
      if (known == stage) break;
      progress += 1;
    }
    if (progress < progress_ + 0.05) return; // it must grow, and a client need not hear of every step
    progress_ = progress;
    writer_.send(
        notification("notifications/progress",
                     {{"progressToken", token_}, {"progress", progress}, {"total", std::size(stages)}, {"message", stage}}));
  }

  agent::SearchDesk& desk_;
  McpMethods methods_;
  RpcWriter writer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Json> queue_;
  bool ended_ = false;
  Json current_, token_; // of the request in work
  bool cancelled_ = false;
  double progress_ = -1;
};

} // namespace

void serve_mcp(agent::SearchDesk& desk, McpOptions const& options, std::istream& in, std::ostream& out) {
  Server(desk, options, out).run(in);
}

} // namespace tik::serve
