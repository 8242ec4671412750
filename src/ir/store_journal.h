// The journal: every record's body in order of creation, each under a hash that covers the one before.
#pragma once

#include <fmt/format.h>

#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/ir/store_connection.h"

namespace tik::ir {

// What the store calls each type of record: its table, its letter, the word of sentences, and its first number.
struct RecordType {
  char const* table;
  char letter;
  char const* noun;
  std::int64_t first;
};
inline constexpr RecordType opportunity_type{"opportunity", 'O', "opportunity", 1};
inline constexpr RecordType withdrawal_type{"withdrawal", 'W', "withdrawal", 1};
inline constexpr RecordType implementation_type{"implementation", 'I', "implementation", 0};
inline constexpr RecordType action_type{"action", 'A', "action", 1};
inline constexpr RecordType audit_type{"audit", 'U', "audit", 1};
inline constexpr RecordType decision_type{"lineage_decision", 'L', "lineage decision", 1};
inline constexpr RecordType usage_type{"model_usage", 'M', "model usage", 1};

// What people call a record of the journal: "U7".
inline std::string name_of(std::string const& type, std::int64_t number) {
  for (auto const& known :
       {opportunity_type, withdrawal_type, implementation_type, action_type, audit_type, decision_type, usage_type}) {
    if (type == known.table) return fmt::format("{}{}", known.letter, number);
  }
  return fmt::format("?{}", number);
}

// Bodies beyond this are refused: a report of this size is a log that escaped its limit.
inline constexpr std::size_t largest_body_bytes = 64 << 20;

// sha256 of one entry, given that of the entry before it ("" for the first).
inline std::string entry_sha256(std::string const& previous, std::string const& type, std::int64_t number,
                                std::string const& body) {
  return sha256_hex(fmt::format("{}\n{} {}\n{}", previous, type, number, body));
}

// "I99: there is no such implementation; there are I0 to I41."
inline Error missing_record(Connection const& connection, RecordType const& type, std::int64_t number) {
  auto const last = connection.cell(fmt::format("SELECT max(number) FROM {}", type.table));
  auto const range =
      last ? fmt::format("there are {0}{1} to {0}{2}", type.letter, type.first, *last) : std::string("there is none yet");
  return {ErrorKind::input, fmt::format("{}{}: there is no such {}; {}.", type.letter, number, type.noun, range)};
}

// The body of one record, parsed and read by `read`; `read` is one of the *_from_json.
template <class Record>
Result<Record> read_record(Connection const& connection, RecordType const& type, std::int64_t number,
                           Result<Record> (*read)(Json const&)) {
  auto query = connection.statement("SELECT body FROM record WHERE type = ? AND number = ?", std::string(type.table), number);
  if (!query.executeStep()) return tl::unexpected(missing_record(connection, type, number));
  auto const damaged = [&](Error const& error) {
    return damage_error(fmt::format("{}: {}{} cannot be read ({}): run `tik verify`.", connection.file().string(), type.letter,
                                    number, error.message));
  };
  auto const json = parse_json(query.getColumn(0).getString(), "body");
  if (!json) return damaged(json.error());
  auto record = read(*json);
  if (!record) return damaged(record.error());
  return record;
}

} // namespace tik::ir
