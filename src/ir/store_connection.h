// One connection to a search's database: its settings, its transactions, and the translation of SQLite's errors into sentences.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/Savepoint.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/ir/store.h"

namespace tik::ir {

// The error that an exception of SQLite stands for: who has to act, in which file, what to do.
Error translate(SQLite::Exception const& exception, std::filesystem::path const& file);

// Compiled statements that are not in use, by their text. Compiling one takes longer than running it, above all an INSERT with
// its triggers.
using IdleStatements = std::unordered_map<std::string, SQLite::Statement>;

// A statement in use. It goes back to the idle ones at the end.
class Statement : public SQLite::Statement {
 public:
  Statement(SQLite::Statement statement, std::shared_ptr<IdleStatements> idle)
      : SQLite::Statement(std::move(statement)), idle_(std::move(idle)) {}
  Statement(Statement&& other) noexcept = default;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

 private:
  std::shared_ptr<IdleStatements> idle_; // nothing when this was moved from
};

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
  Statement statement(std::string const& sql, Values const&... values) const {
    Statement result = take(sql);
    int position = 0;
    (result.bind(++position, values), ...);
    return result;
  }

 private:
  Connection(std::filesystem::path file, std::unique_ptr<SQLite::Database> database);
  // An idle statement of this text, or a new one.
  Statement take(std::string const& sql) const;

  std::filesystem::path file_;
  std::unique_ptr<SQLite::Database> database_;
  std::shared_ptr<IdleStatements> idle_ = std::make_shared<IdleStatements>(); // closed before the database
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
