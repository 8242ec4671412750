#include "src/agent/model_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/agent/model_context.h"
#include "src/search/rules.h"

namespace tik::agent {
namespace {

constexpr int most_silent_turns = 3; // answers without a call before the conversation begins again

// The tools on one step of a run: what is submitted or decided is checked by the rules and kept for the workflow to record.
class StepDesk : public Desk {
 public:
  StepDesk(View const& view, Workspace* workspace) : view_(view), workspace_(workspace) {}

  std::optional<ActionDraft> action;
  std::optional<ManagementDraft> management;

  View view() const override { return view_; }
  Result<Workspace::CheckedOut> check_out(std::vector<ir::ImplementationId> const& parents) override {
    return workspace_->check_out(parents);
  }
  Result<evaluator::Stage> build() override { return workspace_->build(); }
  Result<Json> submit(ActionDraft const& draft, bool) override {
    TIK_CHECK(workspace_->check(draft));
    action = draft;
    return Json{{"submitted", true}, {"next", "The evaluator audits it."}};
  }
  Result<Json> decide(ir::AuditId audit, ManagementDraft const& draft) override {
    if (audit != view_.state.awaiting_decision)
      return input_error("decide: this stage decides about the audit that awaits it, and no other.");
    TIK_CHECK(search::may_manage(view_.state, view_.specification, audit, draft));
    if (nothing_left(draft) && !std::exchange(warned_, true))
      return input_error(
          "decide: no opportunity would be pending and the search would end; add follow_ups, or decide again to end it.");
    management = draft;
    return Json{{"decided", true}};
  }
  Result<Json> propose(ir::Opportunity const&) override { return not_here(); }
  Result<Json> withdraw(ir::Withdrawal const&) override { return not_here(); }
  Result<AuditProgress> audit(double) override { return not_here(); }

 private:
  static tl::unexpected<Error> not_here() { return input_error("This stage has no such tool."); }

  bool nothing_left(ManagementDraft const& draft) const {
    std::size_t pending = view_.state.pending.size() - std::min(view_.state.pending.size(), draft.withdrawals.size());
    for (DecisionDraft const& decision : draft.decisions) pending += decision.follow_ups.size();
    return pending == 0;
  }

  View view_;
  Workspace* workspace_;
  bool warned_ = false;
};

// One answer takes at most a twelfth of the conversation, at four bytes a token.
AnswerLimits answer_limits(std::int64_t context_tokens) {
  auto const share = static_cast<std::size_t>(context_tokens) / 3;
  return {std::min(default_answer_bytes, share), std::min(largest_answer_bytes, share)};
}

// Where the model decided nothing in all its attempts: what the rules allow in any case, and nothing more.
ManagementDraft plain_decision(View const& view, ir::AuditId audit) {
  ir::ImplementationId const audited = view.state.audits.at(audit);
  search::ImplementationState const& state = view.state.implementations.at(audited);
  ir::ImplementationId const kept = state.verified || state.parents.empty() ? audited : state.parents.front();
  return {{{kept,
            "The model gave no decision that the rules allow.",
            ir::BranchStatus::continued,
            "what is verified stays active",
            {},
            {}}},
          {}};
}

} // namespace

// One stage: the tools, the first message, and how to see that it is over.
struct ModelAgent::Stage {
  std::string purpose;
  Toolbox& toolbox;
  std::function<Result<std::string>()> first_message;
  std::function<bool()> done;
};

ModelAgent::ModelAgent(Endpoint endpoint, ClientOptions client, std::unique_ptr<Transport> transport, ModelAgentOptions options,
                       std::function<Result<ir::ModelUsage>(ir::ModelUsage)> record_usage, std::atomic<bool> const& cancel)
    : model_(endpoint.model),
      options_(options),
      record_usage_(std::move(record_usage)),
      cancel_(cancel),
      client_(std::move(endpoint), client, std::move(transport), [this](Attempt const& attempt) { return keep(attempt); }) {}

ModelAgent::~ModelAgent() = default;

std::string ModelAgent::name() const { return agent_name("model " + model_, options_.withheld); }

Result<void> ModelAgent::keep(Attempt const& attempt) {
  Usage const& usage = attempt.usage;
  tokens_ += usage.input_tokens + usage.output_tokens;
  Prices const& prices = options_.limits.prices;
  cost_ += (static_cast<double>(usage.input_tokens - usage.cached_tokens) * prices.input +
            static_cast<double>(usage.cached_tokens) * prices.cached_input +
            static_cast<double>(usage.output_tokens) * prices.output) /
           1e6;
  ir::ModelUsage record;
  record.purpose = attempt.purpose;
  record.model = attempt.model;
  record.input_tokens = usage.input_tokens;
  record.output_tokens = usage.output_tokens;
  record.estimated = usage.estimated;
  record.raw = {{"exchange", attempt.exchange}, {"status", attempt.status}, {"usage", usage.raw}, {"failure", attempt.failure}};
  TIK_CHECK(record_usage_(std::move(record)));
  return {};
}

Result<void> ModelAgent::within_limits() {
  ModelLimits const& limits = options_.limits;
  if (limits.tokens > 0 && tokens_ >= limits.tokens)
    stopped_ = fmt::format("this run's limit of {} model tokens is reached", limits.tokens);
  if (limits.cost > 0 && cost_ >= limits.cost)
    stopped_ = fmt::format("this run's limit of {:g} in cost is reached", limits.cost);
  if (stopped_.empty()) return {};
  return tl::unexpected(Error{ErrorKind::cancelled, stopped_});
}

// One conversation. True when the stage is over; false when the model said nothing that leads there.
Result<bool> ModelAgent::converse(Stage& stage) {
  ModelRequest request{system_prompt(options_.withheld), {}, stage.toolbox.tools()};
  TIK_TRY(std::string first, stage.first_message());
  request.turns.push_back({Turn::Role::user, std::move(first), {}, {}, nullptr});
  int silent = 0;
  for (int calls = 0; calls < options_.most_calls; ++calls) {
    TIK_CHECK(within_limits());
    Result<StreamState> asked = client_.ask(request, stage.purpose, cancel_);
    if (!asked && asked.error().kind == ErrorKind::cancelled && !cancel_)
      stopped_ = asked.error().message; // a recording that ends
    if (!asked) return tl::unexpected(asked.error());
    StreamState answer = std::move(*asked);
    bool const long_context = answer.usage.input_tokens + answer.usage.output_tokens > options_.context_tokens;
    std::vector<ToolCall> const tool_calls = answer.turn.calls;
    request.turns.push_back(std::move(answer.turn));
    if (tool_calls.empty()) {
      if (++silent == most_silent_turns) return false;
      request.turns.push_back({Turn::Role::user, "Call a tool: text alone changes nothing.", {}, {}, nullptr});
      continue;
    }
    Turn results{Turn::Role::results, {}, {}, {}, nullptr};
    for (ToolCall const& call : tool_calls) {
      auto const arguments = parse_json(call.arguments.empty() ? "{}" : call.arguments, call.name);
      Answer refused{arguments ? "" : "The arguments are not JSON: " + arguments.error().message, true, 0};
      if (arguments && stage.done()) refused.text = "The stage is over.";
      Result<Answer> const result = refused.text.empty() ? stage.toolbox.call(call.name, *arguments) : Result<Answer>(refused);
      if (!result) return tl::unexpected(result.error());
      results.results.push_back({call.id, result->refused ? result->text : framed(call.name, result->text), result->refused});
    }
    if (stage.done()) return true;
    if (long_context) return false; // the draft stays; the records say the rest
    request.turns.push_back(std::move(results));
  }
  return false;
}

Result<std::optional<ActionDraft>> ModelAgent::act(View const& view, Workspace& workspace) {
  if (view.state.pending.empty()) return std::nullopt;
  StepDesk desk(view, &workspace);
  Toolbox toolbox(desk, options_.withheld, Offer::act, answer_limits(options_.context_tokens));
  if (options_.name_choices) toolbox.name_choices();
  Stage stage{"act", toolbox, [&] { return act_message(toolbox, options_.withheld); }, [&] { return desk.action.has_value(); }};
  for (int attempt = 0; attempt < options_.most_attempts; ++attempt) {
    TIK_TRY(bool const done, converse(stage));
    if (done) return desk.action;
  }
  stopped_ = fmt::format("the model submitted no action in {} conversations", options_.most_attempts);
  return std::nullopt;
}

Result<ManagementDraft> ModelAgent::manage(View const& view, ir::AuditId audit) {
  StepDesk desk(view, nullptr);
  Toolbox toolbox(desk, options_.withheld, Offer::manage, answer_limits(options_.context_tokens));
  if (options_.name_choices) toolbox.name_choices();
  Stage stage{"manage", toolbox, [&] { return manage_message(toolbox, view, options_.withheld, audit); },
              [&] { return desk.management.has_value(); }};
  for (int attempt = 0; attempt < options_.most_attempts; ++attempt) {
    TIK_TRY(bool const done, converse(stage));
    if (done) return *desk.management;
  }
  return plain_decision(view, audit);
}

Result<void> record_lost_calls(ir::Store const& store, ExchangeLog const& log,
                               std::function<Result<ir::ModelUsage>(ir::ModelUsage)> const& record_usage) {
  if (log.earlier().empty()) return {};
  std::set<std::int64_t> accounted;
  TIK_CHECK(store.read_journal([&](ir::JournalEntry const& entry) -> Result<void> {
    if (entry.type != "model_usage") return {};
    TIK_TRY(Json const body, parse_json(entry.body, "model usage"));
    accounted.insert(count_of(body, {"raw", "exchange"}));
    return {};
  }));
  for (ExchangeLog::Begun const& begun : log.earlier()) {
    if (accounted.contains(begun.number)) continue;
    ir::ModelUsage usage;
    usage.purpose = begun.purpose;
    usage.model = "unknown";
    usage.input_tokens = begun.input_tokens;
    usage.estimated = true;
    usage.raw = {{"exchange", begun.number}, {"failure", "the program ended during this call"}};
    TIK_CHECK(record_usage(std::move(usage)));
  }
  return {};
}

} // namespace tik::agent
