// One connection to a search's database: its settings, its transactions, and the translation of SQLite's errors into sentences.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/Savepoint.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/ir/store.h"

namespace tik::ir {

// The error that an exception of SQLite stands for: who has to act, in which file, what to do.
Error translate(SQLite::Exception const& exception, std::filesystem::path const& file);

class Connection {
 public:
  // Creates the file (it must not exist) or opens it; settings are applied. Throws SQLite::Exception.
  static Connection create(std::filesystem::path const& file);
  static Connection open(std::filesystem::path const& file, Store::Mode mode);

  SQLite::Database& database() const { return *database_; }
  std::filesystem::path const& file() const { return file_; }
  // From here on this connection refuses every statement that is not an insert or a query.
  void forbid_changes() const;

  bool in_transaction() const;

  // The number of the one cell that `sql` selects; nothing for NULL or no row.
  std::optional<std::int64_t> cell(std::string const& sql) const;
  template <class... Values>
  SQLite::Statement statement(std::string const& sql, Values const&... values) const {
    SQLite::Statement result(*database_, sql);
    int position = 0;
    (result.bind(++position, values), ...);
    return result;
  }

 private:
  Connection(std::filesystem::path file, std::unique_ptr<SQLite::Database> database);

  std::filesystem::path file_;
  std::unique_ptr<SQLite::Database> database_;
};

// Runs `action() -> Result<T>` and turns what SQLite throws into an Error.
template <class Action>
auto guarded(std::filesystem::path const& file, Action action) -> decltype(action()) {
  try {
    return action();
  } catch (SQLite::Exception const& exception) {
    return tl::unexpected(translate(exception, file));
  }
}

// Runs `action() -> Result<T>` in one IMMEDIATE transaction, or, inside of another, in a savepoint of it: kept when it returns
// a value, undone otherwise.
template <class Action>
auto in_transaction(Connection const& connection, Action action) -> decltype(action()) {
  return guarded(connection.file(), [&]() -> decltype(action()) {
    auto& database = connection.database();
    if (connection.in_transaction()) {
      SQLite::Savepoint savepoint(database, "append");
      auto result = action();
      if (result) savepoint.release();
      return result;
    }
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    auto result = action();
    if (result) transaction.commit();
    return result;
  });
}

// What create() wrote about the search as a whole.
Result<SearchIdentity> read_identity(Connection const& connection);

struct Store::Database {
  Connection connection;
};

} // namespace tik::ir
