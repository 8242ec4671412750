#include <fmt/format.h>

#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/base/source_folder.h"
#include "src/ir/manifest_json.h"
#include "src/ir/sources.h"
#include "src/ir/verify_context.h"

namespace tik::ir {
namespace {

// What is off with one implementation's commit; nothing when all is well.
Result<void> check_commit(SourceRepository const& sources, VerifyContext const& context, ImplementationId id,
                          ImplementationFacts const& facts) {
  TIK_TRY(auto const digests, sources.digests(facts.commit));
  if (hash_source_digests(digests) != facts.source_sha256)
    return damage_error(fmt::format("the files of commit {} do not have the recorded hash.", facts.commit));
  TIK_TRY(auto const text, sources.read(facts.commit, std::string(spec::manifest_file)));
  TIK_TRY(auto const manifest, spec::parse_manifest(text, std::string(spec::manifest_file)));
  if (dump_json(to_json(manifest)) != facts.manifest)
    return damage_error("its recorded manifest is not the one of its sources.");
  TIK_TRY(auto const parents, sources.parents(facts.commit));
  bool agree = parents.size() == facts.parents.size();
  for (std::size_t i = 0; agree && i < parents.size(); ++i) {
    auto const parent = context.implementations.find(facts.parents[i]);
    agree = parent != context.implementations.end() && parent->second.commit == parents[i];
  }
  if (!agree) return damage_error("the parents of its commit are not the commits of its parents.");
  TIK_TRY(auto const kept, sources.kept(to_string(id)));
  if (kept != facts.commit)
    return damage_error(
        fmt::format("refs/tik/{0} does not point at its commit: write it again by `git update-ref refs/tik/{0} {1}`.",
                    to_string(id), facts.commit));
  return {};
}

} // namespace

void verify_commits(std::filesystem::path const& folder, VerifyContext& context) {
  context.result.commits = static_cast<std::int64_t>(context.implementations.size());
  auto const sources = SourceRepository::open(folder);
  if (!sources) return context.find(folder.filename().string(), sources.error().message);
  for (auto const& [id, facts] : context.implementations) {
    auto const checked = check_commit(*sources, context, id, facts);
    if (checked) ++context.result.readable_commits;
    if (!checked) context.find(to_string(id), checked.error().message);
  }
}

} // namespace tik::ir
