#include <fmt/format.h>

#include "src/ir/store_journal.h"

namespace tik::ir {
namespace {

template <class Record>
Result<Record> read_one(Connection const& connection, RecordType const& type, std::int64_t number,
                        Result<Record> (*read)(Json const&)) {
  return guarded(connection.file(), [&] { return read_record(connection, type, number, read); });
}

// The records whose numbers `sql` selects with `number` bound, in that order. `owner` must exist.
template <class Record>
Result<std::vector<Record>> read_linked(Connection const& connection, RecordType const& owner, std::int64_t number,
                                        RecordType const& type, std::string const& sql, Result<Record> (*read)(Json const&)) {
  return guarded(connection.file(), [&]() -> Result<std::vector<Record>> {
    auto const exists =
        connection.statement(fmt::format("SELECT 1 FROM {} WHERE number = ?", owner.table), number).executeStep();
    if (!exists) return tl::unexpected(missing_record(connection, owner, number));
    std::vector<Record> records;
    auto query = connection.statement(sql, number);
    while (query.executeStep()) {
      TIK_TRY(auto record, read_record(connection, type, query.getColumn(0).getInt64(), read));
      records.push_back(std::move(record));
    }
    return records;
  });
}

template <class Record>
Result<std::optional<Record>> at_most_one(Result<std::vector<Record>> records) {
  if (!records) return tl::unexpected(std::move(records.error()));
  if (records->empty()) return std::nullopt;
  return std::optional<Record>(std::move(records->front()));
}

} // namespace

Result<Opportunity> Store::opportunity(OpportunityId id) const {
  return read_one(database_->connection, opportunity_type, id.number, opportunity_from_json);
}

Result<Implementation> Store::implementation(ImplementationId id) const {
  return read_one(database_->connection, implementation_type, id.number, implementation_from_json);
}

Result<Action> Store::action(ActionId id) const {
  return read_one(database_->connection, action_type, id.number, action_from_json);
}

Result<Audit> Store::audit(AuditId id) const { return read_one(database_->connection, audit_type, id.number, audit_from_json); }

Result<LineageDecision> Store::lineage_decision(LineageId id) const {
  return read_one(database_->connection, decision_type, id.number, lineage_decision_from_json);
}

Result<std::optional<Withdrawal>> Store::withdrawal(OpportunityId id) const {
  return at_most_one(read_linked(database_->connection, opportunity_type, id.number, withdrawal_type,
                                 "SELECT number FROM withdrawal WHERE opportunity = ?", withdrawal_from_json));
}

Result<std::optional<Action>> Store::action_of(ImplementationId result) const {
  return at_most_one(read_linked(database_->connection, implementation_type, result.number, action_type,
                                 "SELECT number FROM action WHERE result = ?", action_from_json));
}

Result<std::vector<Audit>> Store::audits_of(ImplementationId id) const {
  return read_linked(database_->connection, implementation_type, id.number, audit_type,
                     "SELECT number FROM audit WHERE implementation = ? ORDER BY number", audit_from_json);
}

Result<std::vector<LineageDecision>> Store::decisions_of(ImplementationId id) const {
  return read_linked(database_->connection, implementation_type, id.number, decision_type,
                     "SELECT number FROM lineage_decision WHERE implementation = ? ORDER BY number",
                     lineage_decision_from_json);
}

Result<std::vector<LineageDecision>> Store::decisions_on(AuditId id) const {
  return read_linked(database_->connection, audit_type, id.number, decision_type,
                     "SELECT number FROM lineage_decision WHERE audit = ? ORDER BY number", lineage_decision_from_json);
}

Result<std::vector<Action>> Store::actions_of(OpportunityId id) const {
  return read_linked(database_->connection, opportunity_type, id.number, action_type,
                     "SELECT number FROM action WHERE opportunity = ? ORDER BY number", action_from_json);
}

Result<std::vector<Action>> Store::children_of(ImplementationId parent) const {
  return read_linked(database_->connection, implementation_type, parent.number, action_type,
                     "SELECT action FROM action_parent WHERE implementation = ? ORDER BY action", action_from_json);
}

Result<std::optional<ImplementationId>> Store::implementation_with_source(std::string const& source_sha256) const {
  auto const& connection = database_->connection;
  return guarded(connection.file(), [&]() -> Result<std::optional<ImplementationId>> {
    auto query = connection.statement("SELECT min(number) FROM implementation WHERE source_sha256 = ?", source_sha256);
    if (!query.executeStep() || query.getColumn(0).isNull()) return std::nullopt;
    return ImplementationId{query.getColumn(0).getInt64()};
  });
}

Result<void> Store::read_journal(std::function<Result<void>(JournalEntry const&)> const& visit) const {
  Connection const& connection = database_->connection;
  return guarded(connection.file(), [&]() -> Result<void> {
    auto query = connection.statement("SELECT sequence, type, number, sha256, body FROM record ORDER BY sequence");
    while (query.executeStep())
      TIK_CHECK(visit({query.getColumn(0).getInt64(), query.getColumn(1).getString(), query.getColumn(2).getInt64(),
                       query.getColumn(3).getString(), query.getColumn(4).getString()}));
    return {};
  });
}

} // namespace tik::ir
