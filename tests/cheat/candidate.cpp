#include "tests/cheat/candidate.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "src/base/files.h"

namespace tik::cheat {
namespace {

namespace fs = std::filesystem;

constexpr char description[] = "candidate.toml";

std::string text_of(toml::table const& table, char const* key) { return table[key].value_or(std::string()); }

std::vector<std::string> texts_of(toml::table const& table, char const* key) {
  std::vector<std::string> texts;
  if (toml::array const* values = table[key].as_array()) {
    for (toml::node const& value : *values) texts.push_back(value.value_or(std::string()));
  }
  return texts;
}

std::string replaced(std::string text, std::string_view from, std::string const& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

std::string filled(std::string text, Surroundings const& surroundings) {
  return replaced(replaced(std::move(text), "@canary@", surroundings.canary.string()), "@port@",
                  std::to_string(surroundings.port));
}

Result<void> apply(fs::path const& folder, Edit const& edit) {
  TIK_TRY(std::string text, read_file(folder / edit.file));
  std::size_t const at = text.find(edit.find);
  if (at == std::string::npos || text.find(edit.find, at + 1) != std::string::npos) {
    return input_error(fmt::format("{}: {:?} must occur exactly once: adapt the edit to the root.", edit.file, edit.find));
  }
  return write_file(folder / edit.file, text.replace(at, edit.find.size(), edit.replace));
}

// Copies the candidate's files over the root's; the names of the new ones.
Result<std::vector<std::string>> lay_over(fs::path const& from, fs::path const& target, Surroundings const& surroundings) {
  std::vector<std::string> added;
  for (fs::directory_entry const& entry : fs::directory_iterator(from)) {
    std::string const name = entry.path().filename().string();
    if (name == description) continue;
    if (!fs::exists(target / name)) added.push_back(name);
    TIK_TRY(std::string const text, read_file(entry.path()));
    TIK_CHECK(write_file(target / name, filled(text, surroundings)));
  }
  std::sort(added.begin(), added.end());
  return added;
}

// The edits of the manifest that give new files a role and let them take part.
std::vector<Edit> manifest_edits(std::vector<std::string> const& added, Ground const& ground) {
  constexpr char manifest[] = "implementation.toml";
  std::vector<Edit> edits;
  std::string roles = "shared = [";
  for (std::string const& name : added) roles += fmt::format("\"{}\", ", name);
  edits.push_back({manifest, "shared = [", roles});
  if (std::find(added.begin(), added.end(), ground.cheat_file) != added.end()) {
    for (char const* entry : {"full", "extend", "decode"}) {
      edits.push_back({manifest, fmt::format("\"tik_attention_{}\"", entry), fmt::format("\"cheat_{}\"", entry)});
    }
    edits.push_back({manifest, ground.last_source + "]", fmt::format("{}, \"{}\"]", ground.last_source, ground.cheat_file)});
  }
  if (std::find(added.begin(), added.end(), "build.sh") != added.end()) {
    edits.push_back({manifest, "command = [", "command = [\"sh\", \"build.sh\", "});
  }
  return edits;
}

} // namespace

Ground cpu_ground(fs::path const& sources) {
  // Of two lists that end with check.cpp, the command's has another file of the root before it.
  return {sources / "tests/cheat/candidates",
          sources / "operators/attention/cpu",
          {},
          "cheat.cpp",
          "\"decode.cpp\", \"check.cpp\""};
}

Ground gpu_ground(fs::path const& sources) {
  return {sources / "tests/cheat/gpu", sources / "operators/attention/sm90_simple", sources / "tests/cheat/gpu/spec.toml",
          "cheat.cu", "\"full.cu\", \"decode.cu\""};
}

Result<std::vector<std::string>> candidate_names(fs::path const& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_entry const& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / description)) names.push_back(entry.path().filename().string());
  }
  if (error) return input_error(fmt::format("{}: cannot be listed: {}.", folder.string(), error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

Result<Candidate> load_candidate(fs::path const& folder, std::string const& name) {
  Candidate candidate;
  candidate.name = name;
  candidate.folder = folder / name;
  TIK_TRY(std::string const text, read_file(candidate.folder / description));
  try {
    toml::table const table = toml::parse(text, name);
    candidate.what = text_of(table, "what");
    candidate.words = text_of(table, "words");
    candidate.evidence = text_of(table, "evidence");
    candidate.run_seconds = table["run_seconds"].value_or(candidate.run_seconds);
    candidate.build_seconds = table["build_seconds"].value_or(candidate.build_seconds);
    candidate.rounds = table["rounds"].value_or(candidate.rounds);
    candidate.honest = table["honest"].value_or(false);
    candidate.harmless = table["harmless"].value_or(false);
    candidate.hangs = table["hangs"].value_or(false);
    candidate.stages = texts_of(table, "stages");
    candidate.needs = texts_of(table, "needs");
    if (toml::array const* edits = table["edit"].as_array()) {
      for (toml::node const& edit : *edits) {
        toml::table const& fields = *edit.as_table();
        candidate.edits.push_back({text_of(fields, "file"), text_of(fields, "find"), text_of(fields, "replace")});
      }
    }
    if (toml::array const* links = table["link"].as_array()) {
      for (toml::node const& link : *links) {
        candidate.links.push_back({text_of(*link.as_table(), "name"), text_of(*link.as_table(), "target")});
      }
    }
  } catch (toml::parse_error const& error) {
    return input_error(fmt::format("{}/{}: {}", name, description, error.description()));
  }
  bool const expects = candidate.honest || candidate.harmless || !(candidate.stages.empty() || candidate.words.empty());
  if (candidate.what.empty() || !expects) {
    return input_error(fmt::format("{}/{}: what, stages and words are required.", name, description));
  }
  return candidate;
}

Result<void> write_candidate(Candidate const& candidate, Ground const& ground, Surroundings const& surroundings,
                             fs::path const& target) {
  fs::copy(ground.root, target, fs::copy_options::recursive);
  TIK_TRY(std::vector<std::string> added, lay_over(candidate.folder, target, surroundings));
  if (fs::exists(target / ground.cheat_file)) {
    for (fs::directory_entry const& shared : fs::directory_iterator(candidate.folder.parent_path())) {
      if (shared.path().extension() != ".h") continue;
      fs::copy_file(shared.path(), target / shared.path().filename());
      added.push_back(shared.path().filename().string());
    }
  }
  for (Link const& link : candidate.links) {
    fs::remove(target / link.name);
    fs::create_symlink(filled(link.target, surroundings), target / link.name);
  }
  if (!added.empty()) {
    for (Edit const& edit : manifest_edits(added, ground)) TIK_CHECK(apply(target, edit));
  }
  for (Edit edit : candidate.edits) {
    edit.replace = filled(edit.replace, surroundings);
    TIK_CHECK(apply(target, edit));
  }
  return {};
}

} // namespace tik::cheat
