// A move: one edit that a manifest declares, as a change of source text.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/ir/records.h"
#include "src/ir/sources.h"
#include "src/spec/manifest.h"

namespace tik::agent {

struct Move {
  enum class Kind { tunable, rewrite } kind = Kind::rewrite;
  std::string name;  // of the tunable or the rewrite
  std::string value; // what a tunable is set to; empty for a rewrite
  auto operator<=>(Move const&) const = default;
};

// A source tree in memory: content by file name.
using Tree = std::map<std::string, std::string>;
Result<Tree> read_tree(ir::SourceRepository const& sources, std::string const& commit);

// What a tree is made of, as far as the manifest's moves tell: rewrites that were applied and the value of every tunable that
// is there.
struct Configuration {
  std::set<std::string> rewrites;
  std::map<std::string, std::string> values;
  auto operator<=>(Configuration const&) const = default;
};

// What the manifest says about a move, whichever kind it is.
struct Declaration {
  std::string mechanism, risk, helps;
  std::vector<spec::EntryPoint> entry_points;
  std::vector<std::string> requires_, enables;
  // Only one entry point would compute differently, in a way that its numerical class says changes bits.
  bool parts_the_entry_points() const { return entry_points.size() == 1 && risk != "none" && !risk.empty(); }
};
Declaration declaration_of(spec::Manifest const& manifest, Move const& move);

// The value that a tunable has in the tree; nothing where its line is not there, or not just once.
std::optional<std::string> value_of(Tree const& tree, spec::Tunable const& tunable);
std::map<std::string, std::string> values_of(Tree const& tree, spec::Manifest const& manifest);
// The tree after the move; nothing where a text to be found is not there exactly once.
std::optional<Tree> apply(Tree const& tree, spec::Manifest const& manifest, Move const& move);
// The tree after all of these moves, in whatever order their texts allow; nothing where one never applies. Values that a
// tunable has already are left.
std::optional<Tree> apply_all(Tree tree, spec::Manifest const& manifest, std::vector<Move> moves);
// The configuration of a tree in which these rewrites were made.
Configuration configuration_of(Tree const& tree, spec::Manifest const& manifest, std::set<std::string> rewrites);
// Whether a rewrite was made, or a tunable has another value than in the root.
bool is_set(Configuration const& configuration, Configuration const& root, std::string const& name);
// Every move that the text of the tree admits and whose requirements hold: `root` says which values count as not set. Of a
// tunable, every other value of its domain.
std::vector<Move> available_moves(Tree const& tree, spec::Manifest const& manifest, Configuration const& configuration,
                                  Configuration const& root);
// Every move that a manifest declares, whether it applies or not.
std::vector<Move> declared_moves(spec::Manifest const& manifest);
// How many places of its domain a tunable moves from its present value; 1 for a rewrite.
int domain_steps(spec::Manifest const& manifest, Configuration const& configuration, Move const& move);
// What `to` has and `from` lacks: its further rewrites, and the tunables that it set and `from` left as in the root.
std::vector<Move> missing_moves(Configuration const& from, Configuration const& to, Configuration const& root);

// "dot_lanes = 8", "values-by-row"; a list of them.
std::string words(Move const& move);
std::string words(std::vector<Move> const& moves);
// The agent's notes in an opportunity, and back; notes of others give no moves.
ir::Json to_notes(std::vector<Move> const& moves);
std::vector<Move> from_notes(ir::Json const& notes);

} // namespace tik::agent
