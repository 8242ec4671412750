// The implementation manifest, implementation.toml: what a source folder says about itself. docs/manifest.md is its definition.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/source_folder.h"
#include "src/spec/specification.h"

namespace tik::spec {

enum class FileRole { full, decode, shared };

// The four numerical risks of unified attention (paper, section 5): where two entry points may part.
enum class NumericalClass { reduction_order, scaling_masking, transcendentals, conversion_rescaling };
std::string_view to_string(
    NumericalClass value); // "reduction-order", "scaling-masking", "transcendentals", "conversion-rescaling"
Result<NumericalClass> numerical_class_from(std::string_view text);

struct NumericalRequirement {
  NumericalClass risk;
  std::string requirement;
};
struct Variant {
  std::string name;
  EntryPoint entry_point;
  std::string file, when;
};
struct DispatchRule {
  EntryPoint entry_point;
  std::string when, variant;
};
// A constant that may be edited: `line` is the text to find, with {} where the value stands.
struct Tunable {
  std::string name, file, line;
  std::vector<std::string> domain;
  std::vector<EntryPoint> entry_points;
  std::string mechanism, risk, helps;
};
struct Edit {
  std::string file, find, replace;
};
// A structural variant: named edits that are applied together.
struct Rewrite {
  std::string name, mechanism, risk;
  std::vector<EntryPoint> entry_points;
  std::vector<Edit> edits;
  std::vector<std::string> requires_, enables;
};

struct Manifest {
  std::string operator_name, target, description;
  int abi = 0;
  std::string full_symbol, extend_symbol, decode_symbol, workspace_symbol, version_symbol;
  std::vector<std::string> full_files, decode_files, shared_files;
  std::vector<std::string> build_command; // argument vector with {include} and {output}
  std::vector<Variant> variants;
  std::vector<DispatchRule> dispatch;
  std::vector<NumericalRequirement> numerics;
  std::vector<Tunable> tunables;
  std::vector<Rewrite> rewrites;
};

inline constexpr std::string_view manifest_file = "implementation.toml";

// Reads and checks folder/implementation.toml: every key known and typed, every listed file there, every file listed once.
Result<Manifest> load_manifest(std::filesystem::path const& folder);
// The same for the files of `folder` that were read before; the folder itself is not looked at.
Result<Manifest> load_manifest(std::filesystem::path const& folder, std::vector<SourceFile> const& files);
Result<Manifest> parse_manifest(std::string_view text, std::string const& file_name);

} // namespace tik::spec
