#include "src/ir/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/ir/store_connection.h"
#include "src/ir/store_journal.h"
#include "src/ir/store_schema.h"

namespace tik::ir {
namespace {

Result<void> write_identity(Connection const& connection, SearchIdentity const& identity) {
  Json baseline = Json::object();
  for (auto const& [id, latency_us] : identity.baseline_us) baseline[id] = latency_us;
  create_schema(connection.database());
  connection.database().exec(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", application_id, schema_version));
  connection
      .statement("INSERT INTO search VALUES (1, ?, ?, ?, ?, ?, ?)", identity.specification_text, identity.specification_file,
                 identity.seal, dump_json(baseline), identity.checks_version, identity.created_at)
      .exec();
  return {};
}

// Whether the file is a store that this program understands and whose rules are in force.
Result<void> check_store(Connection const& connection) {
  auto const file = connection.file().string();
  if (connection.cell("PRAGMA application_id") != application_id)
    return damage_error(fmt::format("{}: is not the database of a search: name a folder that `tik new` made.", file));
  auto const version = connection.cell("PRAGMA user_version").value_or(0);
  if (version > schema_version) {
    return input_error(
        fmt::format("{}: was written by a newer version of tik (store schema {}, this one knows {}): use that version.", file,
                    version, schema_version));
  }
  auto const differences = schema_differences(connection.database());
  if (differences.empty()) return {};
  return damage_error(fmt::format("{}: the rules of the database were changed from outside ({}): restore a copy made before.",
                                  file, fmt::join(differences, ", ")));
}

// Nothing is added to a history that is damaged anywhere: SQLite looks at the structure of every page, the hashes of the
// journal at every byte of the bodies. (The columns beside them are read by whoever computes the state.)
Result<void> check_whole(Connection const& connection) {
  auto const damaged = [&](std::string const& what) {
    return damage_error(
        fmt::format("{}: the database is damaged ({}), and nothing was written: run `tik verify` to see what is "
                    "still readable, and restore a copy.",
                    connection.file().string(), what));
  };
  auto pages = connection.statement("PRAGMA quick_check(1)");
  std::string const answer = pages.executeStep() ? pages.getColumn(0).getString() : "no answer";
  if (answer != "ok") return damaged(answer.substr(answer.find('\n') + 1)); // below a headline
  auto journal = connection.statement("SELECT type, number, sha256, body FROM record ORDER BY sequence");
  std::string previous;
  while (journal.executeStep()) {
    auto const type = journal.getColumn(0).getString();
    auto const number = journal.getColumn(1).getInt64();
    auto const sha256 = journal.getColumn(2).getString();
    if (sha256 != entry_sha256(previous, type, number, journal.getColumn(3).getString()))
      return damaged(name_of(type, number) + ", or the record before it, is not what was written");
    previous = sha256;
  }
  return {};
}

} // namespace

Result<SearchIdentity> read_identity(Connection const& connection) {
  auto const file = connection.file().string();
  auto query = connection.statement(
      "SELECT specification_text, specification_file, seal, baseline_us, checks_version, created_at FROM search");
  if (!query.executeStep()) return damage_error(fmt::format("{}: the search has no specification: restore a copy.", file));
  SearchIdentity identity;
  identity.specification_text = query.getColumn(0).getString();
  identity.specification_file = query.getColumn(1).getString();
  identity.seal = query.getColumn(2).getString();
  auto const baseline = parse_json(query.getColumn(3).getString(), "baseline latencies");
  if (!baseline || !baseline->is_object())
    return damage_error(fmt::format("{}: the baseline latencies cannot be read: restore a copy.", file));
  for (auto const& [id, latency_us] : baseline->items()) {
    if (!latency_us.is_number())
      return damage_error(fmt::format("{}: the baseline of '{}' is not a number: restore a copy.", file, id));
    identity.baseline_us[id] = latency_us.get<double>();
  }
  identity.checks_version = query.getColumn(4).getString();
  identity.created_at = query.getColumn(5).getString();
  return identity;
}

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::create(std::filesystem::path const& file, SearchIdentity const& identity) {
  std::error_code error;
  if (std::filesystem::exists(file, error))
    return input_error(fmt::format("{}: is there already: choose a folder without a search.", file.string()));
  return guarded(file, [&]() -> Result<Store> {
    auto database = std::make_unique<Database>(Database{Connection::create(file)});
    auto dated = identity;
    if (dated.created_at.empty()) dated.created_at = utc_now();
    TIK_CHECK(in_transaction(database->connection, [&] { return write_identity(database->connection, dated); }));
    database->connection.forbid_changes();
    return Store(std::move(database));
  });
}

Result<Store> Store::open(std::filesystem::path const& file, Mode mode) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return input_error(fmt::format("{}: there is no such file: name a folder that `tik new` made.", file.string()));
  return guarded(file, [&]() -> Result<Store> {
    auto database = std::make_unique<Database>(Database{Connection::open(file, mode)});
    TIK_CHECK(check_store(database->connection));
    if (mode == Mode::read_write) TIK_CHECK(check_whole(database->connection));
    return Store(std::move(database));
  });
}

Result<SearchIdentity> Store::identity() const {
  return guarded(database_->connection.file(), [&] { return read_identity(database_->connection); });
}

Result<Store::Counts> Store::counts() const {
  auto const& connection = database_->connection;
  return guarded(connection.file(), [&]() -> Result<Counts> {
    auto const count = [&](char const* table) {
      return connection.cell(fmt::format("SELECT count(*) FROM {}", table)).value_or(0);
    };
    return Counts{count("opportunity"), count("implementation"),   count("action"),
                  count("audit"),       count("lineage_decision"), count("model_usage")};
  });
}

} // namespace tik::ir
