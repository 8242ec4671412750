#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/json.h"
#include "src/ir/manifest_json.h"
#include "src/ir/store_journal.h"
#include "src/ir/verify_context.h"

namespace tik::ir {
namespace {

template <char L>
std::string joined(std::vector<Id<L>> const& ids) {
  std::vector<std::int64_t> numbers;
  for (auto const id : ids) numbers.push_back(id.number);
  return fmt::format("{}", fmt::join(numbers, ","));
}

template <class Number>
std::string optional_text(std::optional<Number> const& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

// The columns that each record's body calls for, in the order in which verify_columns selects them.
class BodyReader {
 public:
  explicit BodyReader(VerifyContext& context) : context_(context) {}

  // Reads one body; its problem, if it has one.
  std::optional<Error> read(std::string const& type, std::int64_t number, std::string place, Json const& json) {
    number_ = number;
    place_ = std::move(place);
    if (type == "opportunity")
      return as(opportunity_from_json(json), [&](Opportunity const& record) { return columns(record); });
    if (type == "withdrawal") return as(withdrawal_from_json(json), [&](Withdrawal const& record) { return columns(record); });
    if (type == "implementation")
      return as(implementation_from_json(json), [&](Implementation const& record) { return columns(record); });
    if (type == "action") return as(action_from_json(json), [&](Action const& record) { return columns(record); });
    if (type == "audit") return as(audit_from_json(json), [&](Audit const& record) { return columns(record); });
    if (type == "lineage_decision")
      return as(lineage_decision_from_json(json), [&](LineageDecision const& record) { return columns(record); });
    if (type == "model_usage")
      return as(model_usage_from_json(json), [&](ModelUsage const& record) { return columns(record); });
    return Error{ErrorKind::damage, fmt::format("'{}' is no type of record.", type)};
  }
  Columns take() { return std::move(columns_); }

 private:
  template <class Record, class Fill>
  std::optional<Error> as(Result<Record> record, Fill fill) {
    if (!record) return record.error();
    columns_ = fill(*record);
    return std::nullopt;
  }

  Columns with_id(std::int64_t id, std::string const& created_at, Columns rest) {
    if (id != number_) context_.find(place_, fmt::format("its body has the number {}.", id));
    rest.insert(rest.begin(), created_at);
    return rest;
  }

  Columns columns(Opportunity const& record) {
    auto const origin = record.origin ? std::optional(record.origin->number) : std::nullopt;
    return with_id(
        record.id.number, record.created_at,
        {std::string(to_string(record.kind)), optional_text(origin), joined(record.implementations), joined(record.evidence)});
  }
  Columns columns(Withdrawal const& record) { return {record.created_at, std::to_string(record.opportunity.number)}; }
  Columns columns(Implementation const& record) {
    context_.implementations[record.id] = {record.commit, record.source_sha256, dump_json(to_json(record.manifest)),
                                           record.parents};
    return with_id(record.id.number, record.created_at, {record.commit, record.source_sha256});
  }
  Columns columns(Action const& record) {
    auto const result = context_.implementations.find(record.result);
    if (result == context_.implementations.end()) {
      context_.find(to_string(record.id), fmt::format("makes {}, which is no earlier record.", to_string(record.result)));
    } else if (result->second.parents != record.parents) {
      context_.find(to_string(record.id), fmt::format("has other parents than {}, which it made.", to_string(record.result)));
    }
    return with_id(record.id.number, record.created_at,
                   {std::to_string(record.opportunity.number), std::to_string(record.result.number),
                    std::string(to_string(record.form)), joined(record.parents)});
  }
  Columns columns(Audit const& record) {
    check_audit(record);
    auto const& specification = context_.specification;
    bool const measured = specification && record.report.measured(*specification);
    auto const total_us = specification ? record.report.total_us(*specification) : std::nullopt;
    return with_id(record.id.number, record.created_at,
                   {std::to_string(record.implementation.number), record.report.verified() ? "1" : "0", measured ? "1" : "0",
                    optional_text(total_us), fmt::format("{}", record.report.seconds)});
  }
  Columns columns(LineageDecision const& record) {
    return with_id(record.id.number, record.created_at,
                   {std::to_string(record.implementation.number), std::to_string(record.audit.number),
                    std::string(to_string(record.status)), joined(record.evidence), joined(record.follow_ups)});
  }
  Columns columns(ModelUsage const& record) {
    auto const action = record.action ? std::optional(record.action->number) : std::nullopt;
    return with_id(record.number, record.created_at,
                   {optional_text(action), std::to_string(record.input_tokens), std::to_string(record.output_tokens)});
  }

  void check_audit(Audit const& record) {
    auto const place = to_string(record.id);
    auto const audited = context_.implementations.find(record.implementation);
    if (audited == context_.implementations.end()) {
      context_.find(place, fmt::format("audits {}, which is no earlier record.", to_string(record.implementation)));
    } else if (audited->second.source_sha256 != record.report.source_sha256) {
      context_.find(place,
                    fmt::format("its report is about other sources than those of {}.", to_string(record.implementation)));
    }
    if (!context_.identity || !context_.specification) return;
    // The root was audited before its latencies became the baselines.
    bool const root = record.implementation == ImplementationId{0};
    auto const& seal = record.report.specification_sha256;
    bool const sealed = seal == context_.identity->seal || (root && seal == spec::seal(*context_.specification));
    if (!sealed)
      context_.find(place, "its report carries another seal than the search: it was made under another specification.");
  }

  VerifyContext& context_;
  std::int64_t number_ = 0;
  std::string place_;
  Columns columns_;
};

} // namespace

void verify_journal(Connection const& connection, VerifyContext& context) {
  auto const file = connection.file().filename().string();
  context.result.records = connection.cell("SELECT count(*) FROM record").value_or(0);
  auto journal = connection.statement("SELECT sequence, type, number, sha256, body FROM record ORDER BY sequence");
  BodyReader reader(context);
  std::string previous;
  std::int64_t expected = 1;
  while (journal.executeStep()) {
    std::int64_t const sequence = journal.getColumn(0).getInt64();
    auto const type = journal.getColumn(1).getString();
    std::int64_t const number = journal.getColumn(2).getInt64();
    auto const sha256 = journal.getColumn(3).getString();
    auto const body = journal.getColumn(4).getString();
    auto const place = name_of(type, number);
    if (sequence != expected)
      context.find(file, fmt::format("the journal jumps from entry {} to {}: records were lost.", expected - 1, sequence));
    if (sha256 != entry_sha256(previous, type, number, body))
      context.find(place, "its hash does not fit: it, or a record before it, was changed.");
    previous = sha256;
    expected = sequence + 1;
    auto const json = parse_json(body, "body");
    auto const problem = json ? reader.read(type, number, place, *json) : std::optional(json.error());
    if (problem) {
      context.find(place, fmt::format("cannot be read: {}", problem->message));
      continue;
    }
    ++context.result.readable_records;
    context.expected[type][number] = reader.take();
  }
}

} // namespace tik::ir
