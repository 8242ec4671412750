// What the parts of a verification share: the findings, and every record that could be read.
#pragma once

#include <map>

#include "src/ir/records.h"
#include "src/ir/store.h"
#include "src/ir/store_connection.h"
#include "src/ir/verify.h"
#include "src/spec/specification.h"

namespace tik::ir {

// One line of the narrow tables, written from a body and read from the columns: the two must be equal.
using Columns = std::vector<std::string>;

struct ImplementationFacts {
  std::string commit, source_sha256, manifest; // manifest: its JSON text
  std::vector<ImplementationId> parents;
};

struct VerifyContext {
  Verification result;
  // Columns by number, for each table: what the bodies say must be there. Links follow the columns of their owner.
  std::map<std::string, std::map<std::int64_t, Columns>> expected;
  std::map<ImplementationId, ImplementationFacts> implementations;
  std::optional<SearchIdentity> identity;
  std::optional<spec::Specification> specification;

  void find(std::string place, std::string sentence) { result.findings.push_back({std::move(place), std::move(sentence)}); }
};

// Each part adds to the findings; what a damaged page hides is a finding, not a failure.
void verify_database(Connection const& connection, VerifyContext& context);
void verify_identity(Connection const& connection, VerifyContext& context);
void verify_journal(Connection const& connection, VerifyContext& context);
void verify_columns(Connection const& connection, VerifyContext& context);
void verify_commits(std::filesystem::path const& sources, VerifyContext& context);

} // namespace tik::ir
