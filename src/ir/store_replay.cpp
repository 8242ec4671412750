#include <fmt/format.h>

#include <array>

#include "src/ir/store_journal.h"

namespace tik::ir {
namespace {

// The rows of one narrow table in order of creation: sequence, created_at, number, and what the event needs.
class RowCursor {
 public:
  RowCursor(Connection const& connection, RecordType const& type, std::string const& columns, std::int64_t after)
      // Numbers grow with the sequence, so the rows are read in the table's own order; only the start is looked up by sequence.
      : query_(connection.statement(fmt::format("SELECT sequence, created_at, number{} FROM {} WHERE number > coalesce((SELECT "
                                                "number FROM {} WHERE sequence <= ? "
                                                "ORDER BY sequence DESC LIMIT 1), -1) ORDER BY number",
                                                columns, type.table, type.table),
                                    after)) {
    advance();
  }

  std::int64_t sequence() const { return sequence_; } // INT64_MAX at the end
  std::int64_t integer(int column) { return query_.getColumn(column).getInt64(); }
  char const* text(int column) { return query_.getColumn(column).getText(); }
  bool is_null(int column) { return query_.isColumnNull(column); }
  double real(int column) { return query_.getColumn(column).getDouble(); }
  void advance() { sequence_ = query_.executeStep() ? query_.getColumn(0).getInt64() : INT64_MAX; }

 private:
  Statement query_;
  std::int64_t sequence_ = INT64_MAX;
};

// The links of one kind in order of their owners.
template <class Target>
class LinkCursor {
 public:
  LinkCursor(Connection const& connection, char const* table, char const* owner, char const* target)
      : connection_(connection),
        sql_(fmt::format("SELECT {0}, {1} FROM {2} WHERE {0} >= ? ORDER BY {0}, position", owner, target, table)) {}

  // The links of `owner`; owners must be asked for in ascending order.
  std::vector<Target> take(std::int64_t owner) {
    if (!query_) {
      query_.emplace(connection_.statement(sql_, owner));
      there_ = query_->executeStep();
    }
    while (there_ && query_->getColumn(0).getInt64() < owner) there_ = query_->executeStep();
    std::vector<Target> links;
    while (there_ && query_->getColumn(0).getInt64() == owner) {
      links.push_back({query_->getColumn(1).getInt64()});
      there_ = query_->executeStep();
    }
    return links;
  }

 private:
  Connection const& connection_;
  std::string sql_;
  std::optional<Statement> query_;
  bool there_ = false;
};

// CHECK constraints keep these columns to the known words.
template <class Value>
Value word(std::string_view text, Value last) {
  for (int value = 0; value < static_cast<int>(last); ++value) {
    if (to_string(static_cast<Value>(value)) == text) return static_cast<Value>(value);
  }
  return last;
}

// All record types side by side; the smallest sequence number is next.
class Replay {
 public:
  Replay(Connection const& connection, std::int64_t after)
      : opportunities_(connection, opportunity_type, ", kind", after),
        withdrawals_(connection, withdrawal_type, ", opportunity", after),
        implementations_(connection, implementation_type, "", after),
        actions_(connection, action_type, ", opportunity, result, form", after),
        audits_(connection, audit_type, ", implementation, verified, measured, within_limits, total_us, seconds", after),
        decisions_(connection, decision_type, ", implementation, audit, status", after),
        usages_(connection, usage_type, ", input_tokens + output_tokens", after),
        applies_to_(connection, "opportunity_implementation", "opportunity", "implementation"),
        parents_(connection, "action_parent", "action", "implementation") {}

  RowCursor& next() {
    RowCursor* first = &opportunities_;
    for (auto* cursor : {&withdrawals_, &implementations_, &actions_, &audits_, &decisions_, &usages_}) {
      if (cursor->sequence() < first->sequence()) first = cursor;
    }
    return *first;
  }

  Event event(RowCursor& row) {
    std::int64_t const number = row.integer(2);
    if (&row == &opportunities_)
      return OpportunityEvent{{number}, word(row.text(3), Opportunity::Kind::reactivate), applies_to_.take(number)};
    if (&row == &withdrawals_) return WithdrawalEvent{{row.integer(3)}};
    if (&row == &implementations_) return ImplementationEvent{{number}};
    if (&row == &actions_)
      return ActionEvent{
          {number}, {row.integer(3)}, {row.integer(4)}, word(row.text(5), ActionForm::joint), parents_.take(number)};
    if (&row == &audits_) {
      auto const total_us = row.is_null(7) ? std::nullopt : std::optional(row.real(7));
      return AuditEvent{{number}, {row.integer(3)}, row.integer(4) != 0, row.integer(5) != 0, row.integer(6) != 0,
                        total_us, row.real(8)};
    }
    if (&row == &decisions_)
      return DecisionEvent{{number}, {row.integer(3)}, {row.integer(4)}, word(row.text(5), BranchStatus::abandoned)};
    return UsageEvent{row.integer(3)};
  }

 private:
  RowCursor opportunities_, withdrawals_, implementations_, actions_, audits_, decisions_, usages_;
  LinkCursor<ImplementationId> applies_to_, parents_;
};

} // namespace

Result<std::int64_t> Store::replay(
    std::int64_t after,
    std::function<void(std::int64_t sequence, std::string_view created_at, Event const&)> const& visit) const {
  auto const& connection = database_->connection;
  return guarded(connection.file(), [&]() -> Result<std::int64_t> {
    // All tables as of one moment; rolled back, since it only reads.
    std::optional<SQLite::Transaction> snapshot;
    if (!connection.in_transaction()) snapshot.emplace(connection.database());
    auto const last = connection.cell("SELECT max(sequence) FROM record").value_or(0);
    auto const damaged = [&](std::int64_t sequence) {
      return damage_error(fmt::format("{}: the record with sequence number {} is missing from its table: run `tik verify`.",
                                      connection.file().string(), sequence));
    };
    if (after >= last) return last;
    Replay replay(connection, after);
    std::int64_t sequence = after;
    for (auto* row = &replay.next(); row->sequence() != INT64_MAX; row = &replay.next()) {
      if (row->sequence() != sequence + 1) return damaged(sequence + 1);
      ++sequence;
      auto const event = replay.event(*row);
      visit(sequence, row->text(1), event);
      row->advance();
    }
    if (sequence != last) return damaged(sequence + 1);
    return sequence;
  });
}

} // namespace tik::ir
