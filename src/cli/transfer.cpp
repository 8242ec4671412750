#include "src/cli/transfer.h"

#include <fmt/format.h>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/search/rules.h"

namespace tik::cli {
namespace {

constexpr std::int64_t largest_number = std::int64_t{1} << 53;

Result<ir::SearchIdentity> read_identity(Json const& json, std::string const& place) {
  JsonFields fields(json, place);
  if (fields.text("format") != transfer_format)
    fields.fail("format", fmt::format("is not \"{}\": this is no export of a search.", transfer_format));
  if (std::int64_t const schema = fields.integer("schema", 0, largest_number); schema != transfer_schema)
    fields.fail("schema",
                fmt::format("is {}; this program reads {}. Import with the version that exported.", schema, transfer_schema));
  ir::SearchIdentity identity;
  identity.specification_file = fields.text("specification_file");
  identity.specification_text = fields.text("specification");
  identity.seal = fields.text("seal");
  identity.checks_version = fields.text("checks_version");
  identity.created_at = fields.text("created_at");
  Json const baselines = fields.object("baseline_us");
  for (auto const& [workload, latency] : baselines.items()) {
    if (latency.is_number())
      identity.baseline_us[workload] = latency.get<double>();
    else
      fields.fail("baseline_us", "holds something that is not a latency.");
  }
  return fields.finish(std::move(identity));
}

Result<ir::JournalEntry> read_entry(Json const& json, std::string const& place) {
  JsonFields fields(json, place);
  ir::JournalEntry entry;
  entry.sequence = fields.integer("sequence", 1, largest_number);
  entry.type = fields.text("type");
  entry.number = fields.integer("number", 0, largest_number);
  entry.sha256 = fields.text("sha256");
  entry.body = dump_json(fields.value("body"));
  return fields.finish(std::move(entry));
}

Result<void> check_end(Json const& json, std::string const& place, std::size_t records, std::string const& lines_sha256,
                       std::string const& bundle_sha256) {
  JsonFields fields(json, place);
  fields.flag("end");
  if (fields.integer("records", 0, largest_number) != static_cast<std::int64_t>(records))
    fields.fail("records", "is not the number of records above: the file was cut or changed; export again");
  if (fields.text("records_sha256") != lines_sha256)
    fields.fail("records_sha256", "is not the hash of the lines above: the file was changed; export again");
  if (fields.text("bundle_sha256") != bundle_sha256)
    fields.fail("bundle_sha256", fmt::format("is not the hash of {}: the two files do not belong together.", bundle_file));
  TIK_CHECK(fields.finish(true));
  return {};
}

// What is read back from an appended record must be what the entry held.
template <class Record>
Result<void> must_equal(ir::JournalEntry const& entry, Record const& recorded) {
  if (dump_json(ir::to_json(recorded)) == entry.body) return {};
  return input_error(
      fmt::format("Record {} ({} {}) would not be recorded as it stands in the export: its ids, times or links are not "
                  "those of this history.",
                  entry.sequence, entry.type, entry.number));
}

// One pass over the entries; some records are appended together with those that follow them.
class Restorer {
 public:
  Restorer(ir::Store& store, Transfer const& transfer, spec::Specification const& specification)
      : store_(store), transfer_(transfer), specification_(specification) {}

  Result<void> run() {
    while (next_ < transfer_.entries.size()) {
      ir::JournalEntry const& entry = take();
      TIK_TRY(Json const body, parse(entry));
      if (auto const restored = restore(entry, body); !restored) {
        Error error = restored.error();
        error.message = fmt::format("{}:{}: {}", records_file, entry.sequence + 1, error.message);
        return tl::unexpected(std::move(error));
      }
    }
    return {};
  }

 private:
  ir::JournalEntry const& take() { return transfer_.entries[next_++]; }

  Result<Json> parse(ir::JournalEntry const& entry) const {
    return parse_json(entry.body, fmt::format("{}:{}", records_file, entry.sequence + 1));
  }

  Result<void> restore(ir::JournalEntry const& entry, Json const& body) {
    if (entry.type == "implementation") return implementation(entry, body);
    if (entry.type == "audit") return audit(entry, body);
    if (entry.type == "lineage_decision") return decision(entry, body);
    if (entry.type == "opportunity") return single(entry, ir::opportunity_from_json(body));
    if (entry.type == "withdrawal") return single(entry, ir::withdrawal_from_json(body));
    if (entry.type == "model_usage") return single(entry, ir::model_usage_from_json(body));
    return input_error(fmt::format("\"{}\" is not expected here.", entry.type));
  }

  template <class Record>
  Result<void> single(ir::JournalEntry const& entry, Result<Record> record) {
    if (!record) return tl::unexpected(record.error());
    TIK_TRY(Record const recorded, store_.append(std::move(*record)));
    return must_equal(entry, recorded);
  }

  // The root alone; any other with the action that made it, which is the next entry.
  Result<void> implementation(ir::JournalEntry const& entry, Json const& body) {
    TIK_TRY(ir::Implementation record, ir::implementation_from_json(body));
    if (entry.number == 0) {
      TIK_TRY(ir::Implementation const recorded, store_.append_root(std::move(record)));
      return must_equal(entry, recorded);
    }
    if (next_ == transfer_.entries.size() || transfer_.entries[next_].type != "action")
      return input_error("The implementation is not followed by the action that made it.");
    ir::JournalEntry const& action_entry = take();
    TIK_TRY(Json const action_body, parse(action_entry));
    TIK_TRY(ir::Action action, ir::action_from_json(action_body));
    TIK_TRY(auto const recorded, store_.append(std::move(action), std::move(record)));
    TIK_CHECK(must_equal(entry, recorded.second));
    return must_equal(action_entry, recorded.first);
  }

  // What the store derives from a report is derived again, not taken over.
  Result<void> audit(ir::JournalEntry const& entry, Json const& body) {
    TIK_TRY(ir::Audit record, ir::audit_from_json(body));
    bool const measured = record.report.measured(specification_);
    bool const limits = measured && search::within_limits(specification_, transfer_.identity.baseline_us, record.report);
    std::optional<double> const total_us = record.report.total_us(specification_);
    TIK_TRY(ir::Audit const recorded, store_.append(std::move(record), measured, limits, total_us));
    return must_equal(entry, recorded);
  }

  // A decision with the follow-ups that it names, which come next.
  Result<void> decision(ir::JournalEntry const& entry, Json const& body) {
    TIK_TRY(ir::LineageDecision record, ir::lineage_decision_from_json(body));
    std::vector<ir::Opportunity> follow_ups;
    std::size_t const wanted = record.follow_ups.size();
    while (follow_ups.size() < wanted && next_ < transfer_.entries.size() && transfer_.entries[next_].type == "opportunity") {
      TIK_TRY(Json const follow_up, parse(take()));
      TIK_TRY(ir::Opportunity opportunity, ir::opportunity_from_json(follow_up));
      follow_ups.push_back(std::move(opportunity));
    }
    TIK_TRY(ir::LineageDecision const recorded, store_.append(std::move(record), std::move(follow_ups)));
    return must_equal(entry, recorded);
  }

  ir::Store& store_;
  Transfer const& transfer_;
  spec::Specification const& specification_;
  std::size_t next_ = 0;
};

} // namespace

std::string transfer_text(Transfer const& transfer, std::string const& bundle_sha256) {
  ir::SearchIdentity const& identity = transfer.identity;
  Json head = {{"format", transfer_format},
               {"schema", transfer_schema},
               {"specification_file", identity.specification_file},
               {"specification", identity.specification_text},
               {"seal", identity.seal},
               {"checks_version", identity.checks_version},
               {"baseline_us", Json::object()},
               {"created_at", identity.created_at}};
  for (auto const& [workload, latency] : identity.baseline_us) head["baseline_us"][workload] = latency;
  std::string text = dump_json(head) + '\n';
  for (ir::JournalEntry const& entry : transfer.entries)
    text += fmt::format("{{\"sequence\":{},\"type\":\"{}\",\"number\":{},\"sha256\":\"{}\",\"body\":{}}}\n", entry.sequence,
                        entry.type, entry.number, entry.sha256, entry.body);
  Json const end = {{"end", true},
                    {"records", transfer.entries.size()},
                    {"records_sha256", sha256_hex(text)},
                    {"bundle_sha256", bundle_sha256}};
  return text + dump_json(end) + '\n';
}

Result<Transfer> read_transfer(std::filesystem::path const& folder) {
  std::filesystem::path const file = folder / records_file;
  std::error_code ignored;
  for (std::filesystem::path const& part : {file, folder / bundle_file}) // a pipe would never end
    if (auto const status = std::filesystem::status(part, ignored); exists(status) && !is_regular_file(status))
      return input_error(fmt::format("{}: is not a regular file, as every part of an export is.", part.string()));
  TIK_TRY(std::string const text, read_file(file));
  Transfer transfer;
  std::size_t line = 0;
  bool ended = false;
  for (std::size_t start = 0; start < text.size(); ++line) {
    std::size_t const end = text.find('\n', start);
    std::string const place = fmt::format("{}:{}", file.string(), line + 1);
    if (end == std::string::npos || ended)
      return input_error(place + ": the file does not end as an export ends. Export again.");
    TIK_TRY(Json const json, parse_json(std::string_view(text).substr(start, end - start), place));
    if (line == 0) {
      TIK_TRY(transfer.identity, read_identity(json, place));
    } else if (json.is_object() && json.contains("end")) {
      TIK_TRY(std::string const bundle, read_file(folder / bundle_file));
      TIK_CHECK(check_end(json, place, transfer.entries.size(), sha256_hex(std::string_view(text).substr(0, start)),
                          sha256_hex(bundle)));
      ended = true;
    } else {
      TIK_TRY(ir::JournalEntry entry, read_entry(json, place));
      if (entry.sequence != static_cast<std::int64_t>(line))
        return input_error(
            fmt::format("{}: sequence is {}, not {}: a record is missing or out of order.", place, entry.sequence, line));
      transfer.entries.push_back(std::move(entry));
    }
    start = end + 1;
  }
  if (!ended) return input_error(fmt::format("{}: the last line is missing: the file was cut. Export again.", file.string()));
  return transfer;
}

Result<void> restore_records(ir::Store& store, Transfer const& transfer) {
  TIK_TRY(spec::Specification const specification,
          spec::parse_specification(transfer.identity.specification_text, transfer.identity.specification_file));
  store.keep_times();
  TIK_CHECK(Restorer(store, transfer, specification).run());
  std::size_t at = 0;
  return store.read_journal([&](ir::JournalEntry const& entry) -> Result<void> {
    ir::JournalEntry const& wanted = transfer.entries.at(at++);
    if (entry.sha256 == wanted.sha256) return {};
    return input_error(fmt::format("{}:{}: the hash is {:.12}..., and the record's is {:.12}...: it was changed.", records_file,
                                   wanted.sequence + 1, wanted.sha256, entry.sha256));
  });
}

} // namespace tik::cli
