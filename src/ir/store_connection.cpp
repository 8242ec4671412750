#include "src/ir/store_connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace tik::ir {
namespace {

constexpr int busy_timeout_ms = 5000;

// What no part of this program ever asks for. Triggers forbid the same to every other program.
int authorize(void*, int action, char const*, char const*, char const*, char const*) {
  switch (action) {
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_ALTER_TABLE:
    case SQLITE_ATTACH:
      return SQLITE_DENY;
    default:
      return SQLITE_OK;
  }
}

void apply_settings(SQLite::Database& database, bool writable) {
  database.setBusyTimeout(busy_timeout_ms);
  database.exec("PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; PRAGMA cache_size = -16384;");
  if (writable) database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

// A file name inside a file: URI.
std::string uri(std::filesystem::path const& file) {
  std::string result = "file:";
  for (char const c : file.string()) {
    bool const special = c == '?' || c == '#' || c == '%';
    result += special ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return result + "?immutable=1";
}

} // namespace

Error translate(SQLite::Exception const& exception, std::filesystem::path const& file) {
  auto const name = file.string();
  switch (exception.getErrorCode()) {
    case SQLITE_FULL:
      return {ErrorKind::machine, fmt::format("{}: the disk is full, nothing was recorded: free space and run again.", name)};
    case SQLITE_IOERR:
      return {ErrorKind::machine,
              fmt::format("{}: reading or writing failed ({}), nothing was recorded: check the disk and its quota, "
                          "then run again.",
                          name, sqlite3_errstr(exception.getExtendedErrorCode()))};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorKind::machine,
              fmt::format("{}: is read-only here: give yourself write permission on the file and its folder.", name)};
    case SQLITE_CANTOPEN:
      return {ErrorKind::machine,
              fmt::format("{}: cannot be opened: check that it exists and that you may read and write it.", name)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::machine, fmt::format("{}: another process has been writing for {} seconds: wait for it or stop it.",
                                              name, busy_timeout_ms / 1000)};
    case SQLITE_NOMEM:
      return {ErrorKind::machine, fmt::format("{}: no memory left: close other programs and run again.", name)};
    case SQLITE_CORRUPT:
      return {ErrorKind::damage,
              fmt::format("{}: the database is damaged ({}): run `tik verify` to see what is still readable.", name,
                          exception.getErrorStr())};
    case SQLITE_NOTADB:
      return {ErrorKind::damage, fmt::format("{}: is not a database: restore the file of this search.", name)};
    case SQLITE_CONSTRAINT:
      return {ErrorKind::input, fmt::format("{}: the store refuses this record: {}.", name, exception.what())};
    case SQLITE_TOOBIG:
      return {ErrorKind::input, fmt::format("{}: the record is too large: shorten its texts.", name)};
    default:
      return {ErrorKind::damage, fmt::format("{}: cannot be used ({}): run `tik verify`.", name, exception.what())};
  }
}

// What it still has in its hands must not keep a transaction open or memory occupied.
Statement::~Statement() {
  if (!idle_) return;
  tryReset();
  try {
    clearBindings();
    idle_->try_emplace(getQuery(), std::move(static_cast<SQLite::Statement&>(*this)));
  } catch (std::exception const&) { // then it is compiled again
  }
}

Connection::Connection(std::filesystem::path file, std::unique_ptr<SQLite::Database> database)
    : file_(std::move(file)), database_(std::move(database)) {}

void Connection::forbid_changes() const { sqlite3_set_authorizer(database_->getHandle(), authorize, nullptr); }

Connection Connection::create(std::filesystem::path const& file) {
  auto database = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  apply_settings(*database, true);
  return Connection(file, std::move(database));
}

Connection Connection::open(std::filesystem::path const& file, Store::Mode mode) {
  bool const writable = mode == Store::Mode::read_write;
  auto database = std::make_unique<SQLite::Database>(file.string(), writable ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY);
  try {
    apply_settings(*database, writable);
    SQLite::Statement(*database, "SELECT count(*) FROM sqlite_schema").executeStep();
  } catch (SQLite::Exception const& exception) {
    // A reader of a write-ahead log wants to create the log's index. In a folder that it may not write, nobody else can be
    // writing either, and without a log the file is complete as it is.
    std::error_code error;
    bool const has_log = std::filesystem::file_size(file.string() + "-wal", error) > 0 && !error;
    if (writable || has_log || (exception.getErrorCode() != SQLITE_CANTOPEN && exception.getErrorCode() != SQLITE_READONLY))
      throw;
    database = std::make_unique<SQLite::Database>(uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
    apply_settings(*database, false);
  }
  Connection connection(file, std::move(database));
  connection.forbid_changes();
  return connection;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_->getHandle()) == 0; }

Statement Connection::take(std::string const& sql) const {
  auto const found = idle_->find(sql);
  if (found == idle_->end()) return {SQLite::Statement(*database_, sql), idle_};
  Statement statement(std::move(found->second), idle_);
  idle_->erase(found);
  return statement;
}

std::optional<std::int64_t> Connection::cell(std::string const& sql) const {
  Statement query = take(sql);
  if (!query.executeStep() || query.getColumn(0).isNull()) return std::nullopt;
  return query.getColumn(0).getInt64();
}

} // namespace tik::ir
