#include "src/agent/model_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/agent/model_context.h"
#include "src/agent/tokens.h"
#include "src/search/reach.h"
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
          "decide: no pending opportunity would apply to an active implementation and the search would end; add follow_ups for "
          "one that stays active, or decide again to end it.");
    management = draft;
    return Json{{"decided", true}};
  }
  Result<Json> propose(ir::Opportunity const&) override { return not_here(); }
  Result<Json> withdraw(ir::Withdrawal const&) override { return not_here(); }
  Result<AuditProgress> audit(double) override { return not_here(); }

 private:
  static tl::unexpected<Error> not_here() { return input_error("This stage has no such tool."); }

  // No action could be taken any more: every opportunity that is left is about branches that are given up or archived.
  bool nothing_left(ManagementDraft const& draft) const {
    std::set<ir::ImplementationId> const frontier = search::frontier_after(view_.state, draft);
    std::set<ir::OpportunityId> pending = view_.state.pending;
    for (ir::Withdrawal const& withdrawal : draft.withdrawals) pending.erase(withdrawal.opportunity);
    for (ir::OpportunityId const id : pending) {
      search::OpportunityState const& left = view_.state.opportunities.at(id);
      if (search::is_within_reach(left.kind, left.implementations, frontier)) return false;
    }
    for (DecisionDraft const& decision : draft.decisions)
      for (ir::Opportunity const& added : decision.follow_ups)
        if (search::is_within_reach(added.kind, added.implementations, frontier)) return false;
    return true;
  }

  View view_;
  Workspace* workspace_;
  bool warned_ = false;
};

// One answer takes at most a twelfth of the conversation.
AnswerLimits answer_limits(std::int64_t context_tokens) {
  auto const share = static_cast<std::size_t>(context_tokens) * bytes_a_token / 12;
  return {std::min(default_answer_bytes, share), std::min(largest_answer_bytes, share)};
}

// What is left of a conversation that has used so many tokens.
Room room_left(std::int64_t used, std::int64_t context_tokens) {
  if (used * 6 >= context_tokens * 5) return Room::least;
  return used * 3 >= context_tokens * 2 ? Room::little : Room::ample;
}

std::int64_t tokens_of(ModelRequest const& request) {
  std::size_t bytes = request.system.size();
  for (Turn const& turn : request.turns) bytes += turn.text.size();
  return estimated_tokens(bytes);
}

bool was_cut_off(StreamState const& answer) { return answer.stop == "length" || answer.stop == "max_tokens"; }

bool has_effect(std::vector<Tool> const& tools, std::string const& name, Tool::Effect effect) {
  return std::any_of(tools.begin(), tools.end(), [&](Tool const& tool) { return tool.name == name && tool.effect == effect; });
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

// Small models make the same call again and again. Until a call changes something, each that reads or edits is answered once.
class ModelAgent::Repetitions {
 public:
  // Whether this call was answered before, and nothing has changed since.
  bool take(std::string const& name, Json const& arguments) {
    std::string const call = name + dump_json(arguments);
    last_ = call;
    if (answered_.insert(call).second) return false;
    repeated_.insert(name);
    return true;
  }
  // The call that was taken last has changed something. Doing just that again would not.
  void changed() {
    answered_ = {last_};
    repeated_.clear();
  }
  // A model held to schemas is not offered what it has repeated since: that tool, or all that read; unless nothing were left.
  void leave_out(std::vector<Tool>& tools) const {
    bool const reading = std::any_of(repeated_.begin(), repeated_.end(),
                                     [&](std::string const& name) { return has_effect(tools, name, Tool::Effect::reads); });
    std::vector<Tool> left;
    for (Tool const& tool : tools)
      if (!repeated_.contains(tool.name) && !(reading && tool.effect == Tool::Effect::reads)) left.push_back(tool);
    if (!left.empty()) tools = std::move(left);
  }

 private:
  std::set<std::string> answered_;
  std::string last_;
  std::set<std::string> repeated_; // names of tools
};

// One stage: the tools, the first message, and how to see that it is over.
struct ModelAgent::Stage {
  std::string purpose;
  Toolbox& toolbox;
  std::function<Result<std::string>()> first_message;
  std::function<bool()> done;
  bool was_cut = false; // an answer
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

// What is offered to a model that is held to schemas: less the less room is left, with bounds that let a call fit into an
// answer, and nothing but what a call needs at the end or once one was cut off.
Result<std::vector<Tool>> ModelAgent::offered(Stage& stage, Repetitions const& repetitions, std::int64_t used) const {
  Room const room = room_left(used, options_.context_tokens);
  TIK_TRY(std::vector<Tool> tools, stage.toolbox.offer_what_is_there(room));
  repetitions.leave_out(tools);
  fit_answer(tools, options_.answer_tokens);
  if (stage.was_cut || room == Room::least) abridge(tools);
  return tools;
}

// One conversation. True when the stage is over; false when the model said nothing that leads there.
Result<bool> ModelAgent::converse(Stage& stage) {
  ModelRequest request{system_prompt(options_.withheld), {}, stage.toolbox.tools()};
  TIK_TRY(std::string first, stage.first_message());
  request.turns.push_back({Turn::Role::user, std::move(first), {}, {}, nullptr});
  int silent = 0;
  std::int64_t used = tokens_of(request);
  Repetitions repetitions;
  for (int calls = 0; calls < options_.most_calls; ++calls) {
    TIK_CHECK(within_limits());
    if (options_.name_choices) {
      TIK_TRY(request.tools, offered(stage, repetitions, used));
    }
    Result<StreamState> asked = client_.ask(request, stage.purpose, cancel_);
    if (!asked && asked.error().kind == ErrorKind::cancelled && !cancel_)
      stopped_ = asked.error().message; // a recording that ends
    if (!asked) return tl::unexpected(asked.error());
    StreamState answer = std::move(*asked);
    used = answer.usage.input_tokens + answer.usage.output_tokens;
    bool const long_context = used > options_.context_tokens;
    stage.was_cut = stage.was_cut || was_cut_off(answer);
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
      std::vector<Tool> const& tools = stage.toolbox.tools();
      bool const records = has_effect(tools, call.name, Tool::Effect::records); // decide may have to be called twice
      if (arguments && !records && repetitions.take(call.name, *arguments))
        refused.text = "You have made this call, and nothing has changed since: its answer stands above.";
      Result<Answer> const result = refused.text.empty() ? stage.toolbox.call(call.name, *arguments) : Result<Answer>(refused);
      if (!result) return tl::unexpected(result.error());
      if (!result->refused && has_effect(tools, call.name, Tool::Effect::edits)) repetitions.changed();
      results.results.push_back({call.id, result->refused ? result->text : framed(call.name, result->text), result->refused});
    }
    if (stage.done()) return true;
    if (long_context) return false; // the draft stays; the records say the rest
    request.turns.push_back(std::move(results));
  }
  return false;
}

Result<std::optional<ActionDraft>> ModelAgent::act(View const& view, Workspace& workspace) {
  if (search::within_reach(view.state).empty()) return std::nullopt;
  StepDesk desk(view, &workspace);
  Toolbox toolbox(desk, options_.withheld, Offer::act, answer_limits(options_.context_tokens));
  Stage stage{"act", toolbox, [&] { return act_message(toolbox, view, options_.withheld); },
              [&] { return desk.action.has_value(); }};
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
