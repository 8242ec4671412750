#include "src/ir/verify.h"

#include <fmt/format.h>

#include "src/base/json.h"
#include "src/ir/store_schema.h"
#include "src/ir/verify_context.h"

namespace tik::ir {
namespace {

constexpr int most_findings_of_a_kind = 100;

// Runs one part; an exception of the database ends that part with a finding.
template <class Part>
void attempt(VerifyContext& context, std::filesystem::path const& file, Part part) {
  try {
    part();
  } catch (SQLite::Exception const& exception) {
    context.find(file.filename().string(), translate(exception, file).message);
  }
}

} // namespace

void verify_database(Connection const& connection, VerifyContext& context) {
  auto const place = connection.file().filename().string();
  if (connection.cell("PRAGMA application_id") != application_id)
    context.find(place, "is not marked as the database of a search.");
  if (auto const version = connection.cell("PRAGMA user_version").value_or(0); version != schema_version)
    context.find(place, fmt::format("has store schema {}, but this version of tik checks schema {}.", version, schema_version));
  for (auto const& difference : schema_differences(connection.database()))
    context.find(place, fmt::format("its rules were changed: {}.", difference));
  auto pages = connection.statement(fmt::format("PRAGMA integrity_check({})", most_findings_of_a_kind));
  while (pages.executeStep()) {
    auto const answer = pages.getColumn(0).getString();
    if (answer != "ok") context.find(place, fmt::format("integrity check: {}.", answer));
  }
  auto links = connection.statement("PRAGMA foreign_key_check");
  for (int i = 0; i < most_findings_of_a_kind && links.executeStep(); ++i) {
    context.find(place, fmt::format("a row of {} links to a row of {} that is missing.", links.getColumn(0).getString(),
                                    links.getColumn(2).getString()));
  }
}

void verify_identity(Connection const& connection, VerifyContext& context) {
  auto const place = connection.file().filename().string();
  auto identity = read_identity(connection);
  if (!identity) return context.find(place, identity.error().message);
  context.identity = *identity;
  auto specification = spec::parse_specification(identity->specification_text, identity->specification_file);
  if (!specification)
    return context.find(place, fmt::format("the sealed specification cannot be read: {}", specification.error().message));
  context.specification = *specification;
  if (identity->checks_version != spec::checks_version) {
    context.result.findings.push_back(
        {place,
         fmt::format(
             "the search was sealed under version {} of the checks, this is version {}: their audits are not comparable; "
             "it can be read, and a new search begun from what `tik best --export` writes.",
             identity->checks_version, spec::checks_version),
         true});
  } else if (identity->seal != spec::seal(*specification, identity->baseline_us)) {
    context.find(place, "the seal is not the hash of the specification and the baseline latencies: one of them was changed.");
  }
}

Result<Verification> verify(std::filesystem::path const& database, std::filesystem::path const& sources) {
  std::error_code error;
  if (!std::filesystem::exists(database, error))
    return input_error(fmt::format("{}: there is no such file: name a folder that `tik new` made.", database.string()));
  VerifyContext context;
  attempt(context, database, [&] {
    auto const connection = Connection::open(database, Store::Mode::read_only);
    SQLite::Transaction snapshot(connection.database()); // everything as of one moment, also beside a running search
    attempt(context, database, [&] { verify_database(connection, context); });
    attempt(context, database, [&] { verify_identity(connection, context); });
    attempt(context, database, [&] { verify_journal(connection, context); });
    attempt(context, database, [&] { verify_columns(connection, context); });
  });
  verify_commits(sources, context);
  return std::move(context.result);
}

} // namespace tik::ir
