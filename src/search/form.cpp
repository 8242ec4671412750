// The form of an action and the regions it changed: computed from its difference, never believed.
#include <fmt/format.h>

#include <algorithm>

#include "src/search/rules.h"

namespace tik::search {
namespace {

// A file belongs to an entry point only when both trees that hold it say so; the manifest itself decides about both.
spec::FileRole role_in(spec::Manifest const& manifest, std::string const& file) {
  auto const lists = [&](std::vector<std::string> const& files) {
    return std::find(files.begin(), files.end(), file) != files.end();
  };
  if (file == spec::manifest_file) return spec::FileRole::shared;
  if (lists(manifest.full_files)) return spec::FileRole::full;
  if (lists(manifest.decode_files)) return spec::FileRole::decode;
  return spec::FileRole::shared;
}

spec::FileRole role_of(ir::FileChange const& change, spec::Manifest const& before, spec::Manifest const& after) {
  if (change.kind == ir::FileChange::Kind::added) return role_in(after, change.file);
  if (change.kind == ir::FileChange::Kind::removed) return role_in(before, change.file);
  spec::FileRole const role = role_in(before, change.file);
  return role == role_in(after, change.file) ? role : spec::FileRole::shared;
}

} // namespace

ir::ActionForm action_form(ir::Difference const& difference, spec::Manifest const& before, spec::Manifest const& after) {
  bool full = false, decode = false;
  for (ir::FileChange const& change : difference.files) {
    spec::FileRole const role = role_of(change, before, after);
    full |= role != spec::FileRole::decode;
    decode |= role != spec::FileRole::full;
  }
  if (full == decode) return ir::ActionForm::joint;
  return full ? ir::ActionForm::full_only : ir::ActionForm::decode_only;
}

std::vector<std::string> changed_regions(ir::Difference const& difference) {
  std::vector<std::string> regions;
  for (ir::FileChange const& change : difference.files) {
    if (change.kind == ir::FileChange::Kind::removed || change.lines.empty())
      regions.push_back(change.file);
    else
      for (auto const& [first, last] : change.lines) regions.push_back(fmt::format("{}:{}-{}", change.file, first, last));
  }
  return regions;
}

} // namespace tik::search
