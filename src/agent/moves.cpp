#include "src/agent/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace tik::agent {
namespace {

// The place of `text` when it occurs exactly once.
std::optional<std::size_t> only_place(std::string const& content, std::string const& text) {
  std::size_t const place = content.find(text);
  if (text.empty() || place == std::string::npos || content.find(text, place + 1) != std::string::npos) return std::nullopt;
  return place;
}

spec::Tunable const* find_tunable(spec::Manifest const& manifest, std::string const& name) {
  auto const found =
      std::find_if(manifest.tunables.begin(), manifest.tunables.end(), [&](auto const& entry) { return entry.name == name; });
  return found == manifest.tunables.end() ? nullptr : &*found;
}

spec::Rewrite const* find_rewrite(spec::Manifest const& manifest, std::string const& name) {
  auto const found =
      std::find_if(manifest.rewrites.begin(), manifest.rewrites.end(), [&](auto const& entry) { return entry.name == name; });
  return found == manifest.rewrites.end() ? nullptr : &*found;
}

// Where a tunable's value stands in a file: its first character and its length.
std::optional<std::pair<std::size_t, std::size_t>> value_place(std::string const& content, std::string const& line) {
  std::size_t const hole = line.find("{}");
  if (hole == std::string::npos) return std::nullopt;
  std::string const before = line.substr(0, hole), behind = line.substr(hole + 2);
  auto const place = only_place(content, before);
  if (!place) return std::nullopt;
  std::size_t const first = *place + before.size();
  std::size_t const end_of_line = content.find('\n', first);
  std::size_t const last = behind.empty() ? std::min(end_of_line, content.size()) : content.find(behind, first);
  if (last == std::string::npos || last > end_of_line) return std::nullopt;
  return std::pair(first, last - first);
}

std::optional<Tree> set_value(Tree tree, spec::Tunable const& tunable, std::string const& value) {
  auto const file = tree.find(tunable.file);
  if (file == tree.end()) return std::nullopt;
  auto const place = value_place(file->second, tunable.line);
  if (!place || file->second.compare(place->first, place->second, value) == 0) return std::nullopt;
  file->second.replace(place->first, place->second, value);
  return tree;
}

std::optional<Tree> make_edits(Tree tree, std::vector<spec::Edit> const& edits) {
  for (spec::Edit const& edit : edits) {
    auto const file = tree.find(edit.file);
    if (file == tree.end()) return std::nullopt;
    auto const place = only_place(file->second, edit.find);
    if (!place) return std::nullopt;
    file->second.replace(*place, edit.find.size(), edit.replace);
  }
  return tree;
}

} // namespace

Result<Tree> read_tree(ir::SourceRepository const& sources, std::string const& commit) {
  TIK_TRY(std::vector<std::string> const files, sources.list(commit));
  Tree tree;
  for (std::string const& file : files) {
    TIK_TRY(tree[file], sources.read(commit, file));
  }
  return tree;
}

Declaration declaration_of(spec::Manifest const& manifest, Move const& move) {
  if (move.kind == Move::Kind::tunable) {
    spec::Tunable const* const tunable = find_tunable(manifest, move.name);
    if (tunable) return {tunable->mechanism, tunable->risk, tunable->helps, tunable->entry_points, {}, {}};
  } else if (spec::Rewrite const* const rewrite = find_rewrite(manifest, move.name)) {
    return {rewrite->mechanism, rewrite->risk, "", rewrite->entry_points, rewrite->requires_, rewrite->enables};
  }
  return {};
}

std::optional<std::string> value_of(Tree const& tree, spec::Tunable const& tunable) {
  auto const file = tree.find(tunable.file);
  if (file == tree.end()) return std::nullopt;
  auto const place = value_place(file->second, tunable.line);
  if (!place) return std::nullopt;
  return file->second.substr(place->first, place->second);
}

std::map<std::string, std::string> values_of(Tree const& tree, spec::Manifest const& manifest) {
  std::map<std::string, std::string> values;
  for (spec::Tunable const& tunable : manifest.tunables)
    if (auto const value = value_of(tree, tunable)) values[tunable.name] = *value;
  return values;
}

std::optional<Tree> apply(Tree const& tree, spec::Manifest const& manifest, Move const& move) {
  if (move.kind == Move::Kind::tunable) {
    spec::Tunable const* const tunable = find_tunable(manifest, move.name);
    return tunable ? set_value(tree, *tunable, move.value) : std::nullopt;
  }
  spec::Rewrite const* const rewrite = find_rewrite(manifest, move.name);
  return rewrite ? make_edits(tree, rewrite->edits) : std::nullopt;
}

std::optional<Tree> apply_all(Tree tree, spec::Manifest const& manifest, std::vector<Move> moves) {
  auto const try_one = [&](Move const& move) {
    spec::Tunable const* const tunable = move.kind == Move::Kind::tunable ? find_tunable(manifest, move.name) : nullptr;
    if (tunable && value_of(tree, *tunable) == move.value) return true;
    auto edited = apply(tree, manifest, move);
    if (edited) tree = std::move(*edited);
    return edited.has_value();
  };
  for (bool moved = true; moved && !moves.empty();) moved = std::erase_if(moves, try_one) > 0;
  if (!moves.empty()) return std::nullopt;
  return tree;
}

Configuration configuration_of(Tree const& tree, spec::Manifest const& manifest, std::set<std::string> rewrites) {
  return {std::move(rewrites), values_of(tree, manifest)};
}

bool is_set(Configuration const& configuration, Configuration const& root, std::string const& name) {
  if (configuration.rewrites.contains(name)) return true;
  auto const value = configuration.values.find(name);
  if (value == configuration.values.end()) return false;
  auto const original = root.values.find(name);
  return original == root.values.end() || original->second != value->second;
}

std::vector<Move> available_moves(Tree const& tree, spec::Manifest const& manifest, Configuration const& configuration,
                                  Configuration const& root) {
  std::vector<Move> moves;
  for (spec::Tunable const& tunable : manifest.tunables) {
    auto const value = value_of(tree, tunable);
    auto const at = value ? std::find(tunable.domain.begin(), tunable.domain.end(), *value) : tunable.domain.end();
    if (at == tunable.domain.end()) continue;
    for (std::string const& other : tunable.domain)
      if (other != *value) moves.push_back({Move::Kind::tunable, tunable.name, other});
  }
  for (spec::Rewrite const& rewrite : manifest.rewrites) {
    bool const ready = std::all_of(rewrite.requires_.begin(), rewrite.requires_.end(),
                                   [&](std::string const& name) { return is_set(configuration, root, name); });
    if (ready && !configuration.rewrites.contains(rewrite.name) && make_edits(tree, rewrite.edits))
      moves.push_back({Move::Kind::rewrite, rewrite.name, ""});
  }
  return moves;
}

std::vector<Move> declared_moves(spec::Manifest const& manifest) {
  std::vector<Move> moves;
  for (spec::Tunable const& tunable : manifest.tunables)
    for (std::string const& value : tunable.domain) moves.push_back({Move::Kind::tunable, tunable.name, value});
  for (spec::Rewrite const& rewrite : manifest.rewrites) moves.push_back({Move::Kind::rewrite, rewrite.name, ""});
  return moves;
}

int domain_steps(spec::Manifest const& manifest, Configuration const& configuration, Move const& move) {
  spec::Tunable const* const tunable = find_tunable(manifest, move.name);
  auto const value = configuration.values.find(move.name);
  if (move.kind != Move::Kind::tunable || !tunable || value == configuration.values.end()) return 1;
  auto const from = std::find(tunable->domain.begin(), tunable->domain.end(), value->second);
  auto const to = std::find(tunable->domain.begin(), tunable->domain.end(), move.value);
  return static_cast<int>(std::abs(std::distance(from, to)));
}

std::vector<Move> missing_moves(Configuration const& from, Configuration const& to, Configuration const& root) {
  std::vector<Move> moves;
  for (std::string const& name : to.rewrites)
    if (!from.rewrites.contains(name)) moves.push_back({Move::Kind::rewrite, name, ""});
  for (auto const& [name, value] : to.values)
    if (is_set(to, root, name) && !is_set(from, root, name)) moves.push_back({Move::Kind::tunable, name, value});
  return moves;
}

std::string words(Move const& move) {
  return move.kind == Move::Kind::tunable ? fmt::format("{} = {}", move.name, move.value) : move.name;
}

std::string words(std::vector<Move> const& moves) {
  std::string text;
  for (Move const& move : moves) text += (text.empty() ? "" : ", ") + words(move);
  return text.empty() ? "nothing" : text;
}

ir::Json to_notes(std::vector<Move> const& moves) {
  ir::Json list = ir::Json::array();
  for (Move const& move : moves) {
    if (move.kind == Move::Kind::tunable)
      list.push_back({{"tunable", move.name}, {"value", move.value}});
    else
      list.push_back({{"rewrite", move.name}});
  }
  return {{"moves", std::move(list)}};
}

std::vector<Move> from_notes(ir::Json const& notes) {
  std::vector<Move> moves;
  auto const text = [](ir::Json const& entry, char const* key) {
    auto const found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!notes.is_object() || !notes.contains("moves") || !notes["moves"].is_array()) return moves;
  for (ir::Json const& entry : notes["moves"]) {
    if (!entry.is_object()) continue;
    if (std::string const rewrite = text(entry, "rewrite"); !rewrite.empty())
      moves.push_back({Move::Kind::rewrite, rewrite, ""});
    if (std::string const tunable = text(entry, "tunable"); !tunable.empty())
      moves.push_back({Move::Kind::tunable, tunable, text(entry, "value")});
  }
  return moves;
}

} // namespace tik::agent
