// apply_moves ROOT OUT MOVE...: copies an implementation and applies moves of its manifest, NAME (a rewrite) or NAME=VALUE (a
// tunable), each as an edit of the source that must find its text exactly once.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "src/base/files.h"
#include "src/spec/manifest.h"

namespace {

using tik::Result;
using tik::spec::Manifest;
namespace fs = std::filesystem;

// The only place of `text` in `source`.
Result<std::size_t> only_place(std::string const& source, std::string const& text, std::string const& what) {
  auto const place = source.find(text);
  if (place == std::string::npos) return tik::input_error(what + ": its text is not in the source.");
  if (source.find(text, place + 1) != std::string::npos) return tik::input_error(what + ": its text occurs more than once.");
  return place;
}

Result<void> replace_in(fs::path const& file, std::string const& find, std::string const& replace, std::string const& what) {
  TIK_TRY(auto source, tik::read_file(file));
  TIK_TRY(auto const place, only_place(source, find, what));
  return tik::write_file(file, source.replace(place, find.size(), replace));
}

Result<void> set_tunable(fs::path const& folder, tik::spec::Tunable const& tunable, std::string const& value) {
  auto const hole = tunable.line.find("{}");
  auto const before = tunable.line.substr(0, hole), after = tunable.line.substr(hole + 2);
  TIK_TRY(auto const source, tik::read_file(folder / tunable.file));
  TIK_TRY(auto const place, only_place(source, before, tunable.name));
  auto const end = source.find(after, place + before.size());
  if (end == std::string::npos) return tik::input_error(tunable.name + ": its line does not end as the manifest says.");
  return replace_in(folder / tunable.file, source.substr(place, end + after.size() - place), before + value + after,
                    tunable.name);
}

Result<void> apply(fs::path const& folder, Manifest const& manifest, std::string const& move) {
  auto const equals = move.find('=');
  auto const name = move.substr(0, equals);
  for (auto const& tunable : manifest.tunables) {
    if (tunable.name == name && equals != std::string::npos) return set_tunable(folder, tunable, move.substr(equals + 1));
  }
  for (auto const& rewrite : manifest.rewrites) {
    if (rewrite.name != move) continue;
    for (auto const& edit : rewrite.edits) TIK_CHECK(replace_in(folder / edit.file, edit.find, edit.replace, move));
    return {};
  }
  return tik::input_error(move + ": the manifest declares no such move.");
}

Result<void> run(fs::path const& root, fs::path const& out, std::vector<std::string> const& moves) {
  TIK_TRY(auto const manifest, tik::spec::load_manifest(root));
  fs::remove_all(out);
  fs::copy(root, out, fs::copy_options::recursive);
  for (auto const& move : moves) TIK_CHECK(apply(out, manifest, move));
  return {};
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: apply_moves ROOT OUT MOVE...\n");
    return 2;
  }
  auto const result = run(argv[1], argv[2], {argv + 3, argv + argc});
  if (result) return 0;
  std::fprintf(stderr, "apply_moves: %s\n", result.error().message.c_str());
  return 1;
}
