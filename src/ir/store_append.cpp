#include <fmt/format.h>

#include <cmath>

#include "src/base/files.h"
#include "src/ir/store_journal.h"

namespace tik::ir {
namespace {

// One record on its way into the store: its body into the journal, then its links, then the row that closes it.
class Appender {
 public:
  // keep_times: records keep the created_at that they come with.
  Appender(Connection const& connection, bool keep_times) : connection_(connection), keep_times_(keep_times) {}

  void date(std::string& created_at) const {
    if (!keep_times_) created_at = utc_now();
  }

  std::int64_t next_number(RecordType const& type) const {
    return connection_.cell(fmt::format("SELECT max(number) + 1 FROM {}", type.table)).value_or(type.first);
  }

  // Writes the body; returns its sequence number. A body that could not be read back is refused, whatever the record's type
  // allows.
  template <class Record>
  Result<std::int64_t> write_body(RecordType const& type, std::int64_t number, Record const& record,
                                  Result<Record> (*read)(Json const&)) {
    auto const body = dump_json(to_json(record));
    if (body.size() > largest_body_bytes) {
      return input_error(fmt::format("The {} has {} bytes, but at most {} are recorded: shorten its texts.", type.noun,
                                     body.size(), largest_body_bytes));
    }
    TIK_TRY(auto const json, parse_json(body, type.noun));
    TIK_CHECK(read(json));
    auto last = connection_.statement("SELECT sequence, sha256 FROM record ORDER BY sequence DESC LIMIT 1");
    bool const first = !last.executeStep();
    std::int64_t const sequence = first ? 1 : last.getColumn(0).getInt64() + 1;
    auto const previous = first ? std::string() : last.getColumn(1).getString();
    connection_
        .statement("INSERT INTO record VALUES (?, ?, ?, ?, ?)", sequence, std::string(type.table), number,
                   entry_sha256(previous, type.table, number, body), body)
        .exec();
    return sequence;
  }

  template <char L>
  void write_links(char const* table, std::int64_t owner, std::vector<Id<L>> const& links) const {
    auto insert = connection_.statement(fmt::format("INSERT INTO {} VALUES (?, ?, ?)", table));
    for (std::size_t position = 0; position < links.size(); ++position) {
      insert.bind(1, owner);
      insert.bind(2, static_cast<std::int64_t>(position));
      insert.bind(3, links[position].number);
      insert.exec();
      insert.reset();
    }
  }

  // A sentence that names the missing record, before the foreign key refuses it namelessly.
  Result<void> must_exist(RecordType const& type, std::int64_t number) const {
    auto query = connection_.statement(fmt::format("SELECT 1 FROM {} WHERE number = ?", type.table), number);
    if (!query.executeStep()) return tl::unexpected(missing_record(connection_, type, number));
    return {};
  }
  template <char L>
  Result<void> must_exist(RecordType const& type, std::vector<Id<L>> const& ids) const {
    for (auto const id : ids) TIK_CHECK(must_exist(type, id.number));
    return {};
  }

  Result<Opportunity> append(Opportunity opportunity) {
    opportunity.id.number = next_number(opportunity_type);
    date(opportunity.created_at);
    if (opportunity.evidence.empty()) return input_error("The opportunity has no evidence: name at least one audit.");
    if (opportunity.implementations.empty())
      return input_error(
          "The opportunity names no implementation: name at least one verified implementation that it may apply to.");
    TIK_CHECK(must_exist(audit_type, opportunity.evidence));
    TIK_CHECK(must_exist(implementation_type, opportunity.implementations));
    if (opportunity.origin) TIK_CHECK(must_exist(decision_type, opportunity.origin->number));
    auto const number = opportunity.id.number;
    TIK_TRY(auto const sequence, write_body(opportunity_type, number, opportunity, opportunity_from_json));
    write_links("opportunity_implementation", number, opportunity.implementations);
    write_links("opportunity_evidence", number, opportunity.evidence);
    auto row = connection_.statement("INSERT INTO opportunity VALUES (?, ?, ?, ?, ?)", number, sequence, opportunity.created_at,
                                     std::string(to_string(opportunity.kind)));
    if (opportunity.origin) row.bind(5, opportunity.origin->number);
    row.exec();
    return opportunity;
  }

  Result<Implementation> append(Implementation implementation) {
    implementation.id.number = next_number(implementation_type);
    date(implementation.created_at);
    auto const number = implementation.id.number;
    TIK_TRY(auto const sequence, write_body(implementation_type, number, implementation, implementation_from_json));
    connection_
        .statement("INSERT INTO implementation VALUES (?, ?, ?, ?, ?)", number, sequence, implementation.created_at,
                   implementation.commit, implementation.source_sha256)
        .exec();
    return implementation;
  }

  Result<Action> append(Action action) {
    action.id.number = next_number(action_type);
    date(action.created_at);
    if (action.parents.empty() || action.parents.size() > 2 ||
        (action.parents.size() == 2 && action.parents[0] == action.parents[1]))
      return input_error("The action must have one parent, or two different ones for a merge.");
    TIK_CHECK(must_exist(opportunity_type, action.opportunity.number));
    TIK_CHECK(must_exist(implementation_type, action.parents));
    auto const number = action.id.number;
    TIK_TRY(auto const sequence, write_body(action_type, number, action, action_from_json));
    write_links("action_parent", number, action.parents);
    connection_
        .statement("INSERT INTO action VALUES (?, ?, ?, ?, ?, ?)", number, sequence, action.created_at,
                   action.opportunity.number, action.result.number, std::string(to_string(action.form)))
        .exec();
    return action;
  }

  Result<LineageDecision> append(LineageDecision decision, std::vector<Opportunity> follow_ups) {
    decision.id.number = next_number(decision_type);
    date(decision.created_at);
    decision.follow_ups.clear();
    std::int64_t const first_follow_up = next_number(opportunity_type);
    for (std::size_t i = 0; i < follow_ups.size(); ++i)
      decision.follow_ups.push_back({first_follow_up + static_cast<std::int64_t>(i)});
    TIK_CHECK(must_exist(implementation_type, decision.implementation.number));
    TIK_CHECK(must_exist(audit_type, decision.audit.number));
    TIK_CHECK(must_exist(audit_type, decision.evidence));
    auto const number = decision.id.number;
    TIK_TRY(auto const sequence, write_body(decision_type, number, decision, lineage_decision_from_json));
    write_links("decision_evidence", number, decision.evidence);
    write_links("decision_follow_up", number, decision.follow_ups);
    connection_
        .statement("INSERT INTO lineage_decision VALUES (?, ?, ?, ?, ?, ?)", number, sequence, decision.created_at,
                   decision.implementation.number, decision.audit.number, std::string(to_string(decision.status)))
        .exec();
    for (auto& opportunity : follow_ups) {
      opportunity.origin = decision.id;
      TIK_CHECK(append(std::move(opportunity)));
    }
    return decision;
  }

  Result<Withdrawal> append(Withdrawal withdrawal) {
    date(withdrawal.created_at);
    auto const opportunity = withdrawal.opportunity.number;
    TIK_CHECK(must_exist(opportunity_type, opportunity));
    if (connection_.statement("SELECT 1 FROM withdrawal WHERE opportunity = ?", opportunity).executeStep())
      return input_error(fmt::format("O{}: is withdrawn already: nothing is left to do.", opportunity));
    auto const number = next_number(withdrawal_type);
    TIK_TRY(auto const sequence, write_body(withdrawal_type, number, withdrawal, withdrawal_from_json));
    connection_.statement("INSERT INTO withdrawal VALUES (?, ?, ?, ?)", number, sequence, withdrawal.created_at, opportunity)
        .exec();
    return withdrawal;
  }

 private:
  Connection const& connection_;
  bool keep_times_;
};

} // namespace

Result<void> Store::together(std::function<Result<void>()> const& appends) {
  return in_transaction(database_->connection, appends);
}

Result<Opportunity> Store::append(Opportunity opportunity) {
  return in_transaction(database_->connection,
                        [&] { return Appender(database_->connection, keep_times_).append(std::move(opportunity)); });
}

Result<Withdrawal> Store::append(Withdrawal withdrawal) {
  return in_transaction(database_->connection,
                        [&] { return Appender(database_->connection, keep_times_).append(std::move(withdrawal)); });
}

Result<Implementation> Store::append_root(Implementation implementation) {
  auto const& connection = database_->connection;
  return in_transaction(connection, [&]() -> Result<Implementation> {
    Appender appender(connection, keep_times_);
    if (appender.next_number(implementation_type) != implementation_type.first)
      return input_error("The search has a root already: every further implementation needs an action.");
    implementation.parents.clear();
    return appender.append(std::move(implementation));
  });
}

Result<std::pair<Action, Implementation>> Store::append(Action action, Implementation implementation) {
  auto const& connection = database_->connection;
  return in_transaction(connection, [&]() -> Result<std::pair<Action, Implementation>> {
    Appender appender(connection, keep_times_);
    TIK_CHECK(appender.must_exist(implementation_type, action.parents));
    implementation.parents = action.parents;
    TIK_TRY(implementation, appender.append(std::move(implementation)));
    action.result = implementation.id;
    TIK_TRY(action, appender.append(std::move(action)));
    return std::pair(std::move(action), std::move(implementation));
  });
}

Result<Audit> Store::append(Audit audit, bool measured, bool within_limits, std::optional<double> total_us) {
  auto const& connection = database_->connection;
  return in_transaction(connection, [&]() -> Result<Audit> {
    Appender appender(connection, keep_times_);
    audit.id.number = appender.next_number(audit_type);
    appender.date(audit.created_at);
    TIK_CHECK(appender.must_exist(implementation_type, audit.implementation.number));
    if (measured && !total_us) return input_error("The audit is completely measured but has no total: give T.");
    if (within_limits && !measured)
      return input_error("The audit is not completely measured, so it cannot be within its limits.");
    if (total_us && !(std::isfinite(*total_us) && *total_us > 0))
      return input_error(fmt::format("The audit's total is {}, but must be finite and greater than 0.", *total_us));
    auto const number = audit.id.number;
    TIK_TRY(auto const sequence, appender.write_body(audit_type, number, audit, audit_from_json));
    auto row = connection.statement(
        "INSERT INTO audit (number, sequence, created_at, implementation, verified, measured, within_limits, seconds, "
        "total_us) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        number, sequence, audit.created_at, audit.implementation.number, int{audit.report.verified()}, int{measured},
        int{within_limits}, audit.report.seconds);
    if (total_us) row.bind(9, *total_us);
    row.exec();
    return audit;
  });
}

Result<LineageDecision> Store::append(LineageDecision decision, std::vector<Opportunity> follow_ups) {
  return in_transaction(database_->connection, [&] {
    return Appender(database_->connection, keep_times_).append(std::move(decision), std::move(follow_ups));
  });
}

Result<std::vector<LineageDecision>> Store::append(std::vector<std::pair<LineageDecision, std::vector<Opportunity>>> decisions,
                                                   std::vector<Withdrawal> withdrawals) {
  return in_transaction(database_->connection, [&]() -> Result<std::vector<LineageDecision>> {
    Appender appender(database_->connection, keep_times_);
    std::vector<LineageDecision> appended;
    for (auto& [decision, follow_ups] : decisions) {
      TIK_TRY(auto recorded, appender.append(std::move(decision), std::move(follow_ups)));
      appended.push_back(std::move(recorded));
    }
    for (auto& withdrawal : withdrawals) TIK_CHECK(appender.append(std::move(withdrawal)));
    return appended;
  });
}

Result<ModelUsage> Store::append(ModelUsage usage) {
  auto const& connection = database_->connection;
  return in_transaction(connection, [&]() -> Result<ModelUsage> {
    Appender appender(connection, keep_times_);
    usage.number = appender.next_number(usage_type);
    appender.date(usage.created_at);
    if (usage.action) TIK_CHECK(appender.must_exist(action_type, usage.action->number));
    TIK_TRY(auto const sequence, appender.write_body(usage_type, usage.number, usage, model_usage_from_json));
    auto row = connection.statement(
        "INSERT INTO model_usage (number, sequence, created_at, input_tokens, output_tokens, action) VALUES (?, ?, ?, ?, ?, ?)",
        usage.number, sequence, usage.created_at, usage.input_tokens, usage.output_tokens);
    if (usage.action) row.bind(6, usage.action->number);
    row.exec();
    return usage;
  });
}

} // namespace tik::ir
