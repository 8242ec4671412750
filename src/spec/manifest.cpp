#include "src/spec/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "src/spec/table_reader.h"

namespace tik::spec {
namespace {

constexpr std::size_t longest_name = 128;
constexpr std::size_t longest_words = 4096;
constexpr std::size_t longest_edit = 1 << 16;
constexpr std::size_t most_files = 1000;
constexpr std::size_t most_entries = 1000;

constexpr std::array<std::string_view, 4> numerical_class_names = {"reduction-order", "scaling-masking", "transcendentals",
                                                                   "conversion-rescaling"};

bool is_identifier(std::string_view text) {
  auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto const allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), allowed);
}

// Why `file` cannot name a file inside the source folder; empty when it can.
std::string_view bad_path(std::string_view file) {
  if (file.starts_with('/')) return "is absolute: name it relative to the folder of the manifest.";
  for (std::string_view rest = file;;) {
    auto const slash = rest.find('/');
    if (auto const reason = bad_source_name(rest.substr(0, slash)); !reason.empty()) return reason;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (file == manifest_file) return "is the manifest itself, which has no role: drop it.";
  return {};
}

// Reads the tables of one manifest; later tables refer to the files and names of earlier ones.
class ManifestParser {
 public:
  ManifestParser(TomlNode const& document, Diagnosis& diagnosis)
      : diagnosis_(diagnosis),
        root_(document, "",
              {"implementation", "entry_points", "files", "build", "variants", "dispatch", "numerics", "tunables", "rewrites"},
              diagnosis) {}

  Manifest parse() {
    if (auto const* node = root_.table("implementation", true)) read_implementation(*node);
    if (auto const* node = root_.table("entry_points", true)) read_symbols(*node);
    if (auto const* node = root_.table("files", true)) read_files(*node);
    if (auto const* node = root_.table("build", true)) read_build(*node);
    read_variants();
    read_numerics();
    read_tunables();
    read_rewrites();
    return std::move(manifest_);
  }

 private:
  void read_implementation(TomlNode const& node) {
    TableReader reader(node, "[implementation]", {"schema", "operator", "target", "abi", "description"}, diagnosis_);
    reader.integer("schema", {1, 1});
    manifest_.operator_name = reader.choice("operator", {"attention"});
    manifest_.target = reader.choice("target", {"cpu", "sm_90a"});
    manifest_.abi = static_cast<int>(reader.integer("abi", {1, 1000}));
    manifest_.description = reader.text("description", longest_words);
  }

  void read_symbols(TomlNode const& node) {
    TableReader reader(node, "[entry_points]", {"full", "extend", "decode", "workspace", "version"}, diagnosis_);
    auto const symbol = [&](std::string_view key) {
      auto text = reader.text(key, longest_name);
      if (!is_identifier(text))
        reader.report(key, fmt::format("'{}' is not a C identifier: name the exported function.", text));
      return text;
    };
    manifest_.full_symbol = symbol("full");
    manifest_.extend_symbol = symbol("extend");
    manifest_.decode_symbol = symbol("decode");
    manifest_.workspace_symbol = symbol("workspace");
    manifest_.version_symbol = symbol("version");
  }

  void read_files(TomlNode const& node) {
    TableReader reader(node, "[files]", {"full", "decode", "shared"}, diagnosis_);
    auto const role = [&](std::string_view key) {
      auto files = reader.texts(key, 255, most_files, true);
      for (auto const& file : files) {
        if (auto const reason = bad_path(file); !reason.empty()) reader.report(key, fmt::format("'{}' {}", file, reason));
        auto const [first, fresh] = files_.emplace(file, key);
        if (!fresh)
          reader.report(key, fmt::format("'{}' is listed under '{}' already: every file has one role.", file, first->second));
      }
      return files;
    };
    manifest_.full_files = role("full");
    manifest_.decode_files = role("decode");
    manifest_.shared_files = role("shared");
    if (files_.empty()) reader.report("full", "no file is listed: give every file of the folder a role.");
  }

  void read_build(TomlNode const& node) {
    TableReader reader(node, "[build]", {"command"}, diagnosis_);
    manifest_.build_command = reader.texts("command", longest_words, 1000);
    auto const& command = manifest_.build_command;
    auto const names_output = [](std::string const& word) { return word.find("{output}") != std::string::npos; };
    if (std::none_of(command.begin(), command.end(), names_output))
      reader.report("command", "has no {output}, the library to write: add it, for example \"-o\", \"{output}\".");
  }

  void read_variants() {
    root_.tables("variants", most_entries, [&](TomlNode const& node, std::string const& name) {
      TableReader reader(node, name, {"name", "entry_point", "file", "when"}, diagnosis_);
      Variant variant;
      variant.name = unique_name(reader, variants_, node.line);
      variant.entry_point = read_entry_point(reader);
      variant.file = listed_file(reader);
      variant.when = reader.text("when", longest_words, "");
      manifest_.variants.push_back(std::move(variant));
    });
    root_.tables("dispatch", most_entries, [&](TomlNode const& node, std::string const& name) {
      TableReader reader(node, name, {"entry_point", "when", "variant"}, diagnosis_);
      DispatchRule rule;
      rule.entry_point = read_entry_point(reader);
      rule.when = reader.text("when", longest_words);
      rule.variant = reader.text("variant", longest_name);
      check_variant(reader, rule);
      manifest_.dispatch.push_back(std::move(rule));
    });
  }

  void check_variant(TableReader& reader, DispatchRule const& rule) {
    auto const& variants = manifest_.variants;
    auto const found = std::find_if(variants.begin(), variants.end(), [&](Variant const& v) { return v.name == rule.variant; });
    if (found == variants.end()) {
      reader.report("variant", fmt::format("'{}' is not among [[variants]]{}.", rule.variant,
                                           did_you_mean(rule.variant, variant_names())));
    } else if (found->entry_point != rule.entry_point) {
      reader.report("variant", fmt::format("'{}' belongs to the entry point '{}', not to '{}'.", rule.variant,
                                           to_string(found->entry_point), to_string(rule.entry_point)));
    }
  }

  void read_numerics() {
    root_.tables("numerics", most_entries, [&](TomlNode const& node, std::string const& name) {
      TableReader reader(node, name, {"class", "requirement"}, diagnosis_);
      auto const text = reader.choice("class", {numerical_class_names.begin(), numerical_class_names.end()});
      manifest_.numerics.push_back({*numerical_class_from(text), reader.text("requirement", longest_words)});
    });
  }

  void read_tunables() {
    root_.tables("tunables", most_entries, [&](TomlNode const& node, std::string const& name) {
      TableReader reader(node, name, {"name", "file", "line", "domain", "entry_points", "mechanism", "risk", "helps"},
                         diagnosis_);
      Tunable tunable;
      tunable.name = unique_name(reader, moves_, node.line);
      tunable.file = listed_file(reader);
      tunable.line = reader.text("line", longest_words);
      auto const place = tunable.line.find("{}");
      if (place == std::string::npos || tunable.line.find("{}", place + 2) != std::string::npos)
        reader.report("line", "must hold {} exactly once, where the value stands.");
      tunable.domain = read_domain(node, reader);
      tunable.entry_points = read_entry_points(reader);
      tunable.mechanism = reader.text("mechanism", longest_words);
      tunable.risk = read_risk(reader);
      tunable.helps = reader.text("helps", longest_words, "");
      manifest_.tunables.push_back(std::move(tunable));
    });
  }

  // Values of a tunable as they are written into the source: numbers, truth values and texts may be mixed.
  std::vector<std::string> read_domain(TomlNode const& tunable, TableReader& reader) {
    std::vector<std::string> values;
    auto const* table = std::get_if<TomlTable>(&tunable.value);
    auto const* node = table == nullptr ? nullptr : table->find("domain");
    auto const* array = node == nullptr ? nullptr : std::get_if<TomlArray>(&node->value);
    if (array == nullptr || array->items.size() < 2 || array->items.size() > most_entries) {
      reader.report("domain", fmt::format("must be a list of 2 to {} values that the constant may have.", most_entries));
      return values;
    }
    for (auto const& item : array->items) {
      std::string value;
      if (auto const* text = std::get_if<std::string>(&item.value)) value = *text;
      if (auto const* integer = std::get_if<std::int64_t>(&item.value)) value = fmt::format("{}", *integer);
      if (auto const* number = std::get_if<double>(&item.value)) value = fmt::format("{}", *number);
      if (auto const* boolean = std::get_if<bool>(&item.value)) value = *boolean ? "true" : "false";
      auto const is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
      if (value.empty() || value.size() > longest_name || std::any_of(value.begin(), value.end(), is_control)) {
        reader.report("domain",
                      fmt::format("holds {} that is no value for a source line: write a number, true, false or a text of "
                                  "at most {} printable bytes.",
                                  type_name(item), longest_name));
      } else if (std::find(values.begin(), values.end(), value) != values.end()) {
        reader.report("domain", fmt::format("holds {} twice: list every value once.", value));
      }
      values.push_back(std::move(value));
    }
    return values;
  }

  void read_rewrites() {
    // Where each rewrite's references stand, checked when all names are known.
    std::vector<std::pair<std::string, int>> places;
    root_.tables("rewrites", most_entries, [&](TomlNode const& node, std::string const& name) {
      TableReader reader(node, name, {"name", "mechanism", "entry_points", "edits", "requires", "enables", "risk"}, diagnosis_);
      Rewrite rewrite;
      rewrite.name = unique_name(reader, moves_, node.line);
      rewrite.mechanism = reader.text("mechanism", longest_words);
      rewrite.risk = read_risk(reader);
      rewrite.entry_points = read_entry_points(reader);
      reader.tables("edits", most_entries, [&](TomlNode const& edit, std::string const& edit_name) {
        rewrite.edits.push_back(read_edit(edit, edit_name));
      });
      if (rewrite.edits.empty()) reader.report("edits", "there is none: a rewrite changes the source.");
      rewrite.requires_ = reader.texts("requires", longest_name, most_entries, true);
      rewrite.enables = reader.texts("enables", longest_name, most_entries, true);
      places.emplace_back(name, node.line);
      manifest_.rewrites.push_back(std::move(rewrite));
    });
    for (std::size_t i = 0; i < manifest_.rewrites.size(); ++i) {
      check_references(manifest_.rewrites[i].name, manifest_.rewrites[i].requires_, places[i].first + " requires",
                       places[i].second);
      check_references(manifest_.rewrites[i].name, manifest_.rewrites[i].enables, places[i].first + " enables",
                       places[i].second);
    }
  }

  void check_references(std::string const& own, std::vector<std::string> const& names, std::string const& place, int line) {
    for (auto const& name : names) {
      if (name == own) diagnosis_.report(line, place, fmt::format("names '{}' itself: remove it.", name));
      if (moves_.contains(name)) continue;
      std::vector<std::string_view> known;
      for (auto const& move : moves_) known.push_back(move.first);
      diagnosis_.report(line, place,
                        fmt::format("'{}' is neither a tunable nor a rewrite{}.", name, did_you_mean(name, known)));
    }
  }

  Edit read_edit(TomlNode const& node, std::string const& name) {
    TableReader reader(node, name, {"file", "find", "replace"}, diagnosis_);
    Edit edit;
    edit.file = listed_file(reader);
    edit.find = reader.text("find", longest_edit);
    edit.replace = reader.text("replace", longest_edit, "");
    if (!reader.has("replace")) reader.report("replace", "is missing: add it; \"\" removes the text.");
    if (edit.find == edit.replace) reader.report("replace", "is what find holds: an edit changes something.");
    return edit;
  }

  std::string unique_name(TableReader& reader, std::map<std::string, int, std::less<>>& names, int line) {
    auto name = reader.text("name", longest_name);
    auto const [first, fresh] = names.emplace(name, line);
    if (!fresh) reader.report("name", fmt::format("'{}' is taken in line {}: give each its own name.", name, first->second));
    return name;
  }

  EntryPoint read_entry_point(TableReader& reader) {
    return reader.choice("entry_point", {"full", "decode"}) == "full" ? EntryPoint::full : EntryPoint::decode;
  }

  std::vector<EntryPoint> read_entry_points(TableReader& reader) {
    std::vector<EntryPoint> result;
    for (auto const& text : reader.texts("entry_points", longest_name, 2)) {
      if (text != "full" && text != "decode")
        reader.report("entry_points", fmt::format("holds '{}'; known: 'full' and 'decode' (extend counts as full).", text));
      result.push_back(text == "full" ? EntryPoint::full : EntryPoint::decode);
    }
    if (result.size() == 2 && result[0] == result[1])
      reader.report("entry_points", "lists one entry point twice: list it once.");
    return result;
  }

  std::string read_risk(TableReader& reader) {
    std::vector<std::string_view> choices(numerical_class_names.begin(), numerical_class_names.end());
    choices.push_back("none");
    return reader.choice("risk", choices, "none");
  }

  std::string listed_file(TableReader& reader) {
    auto file = reader.text("file", 255);
    std::vector<std::string_view> known;
    for (auto const& listed : files_) known.push_back(listed.first);
    if (!files_.contains(file))
      reader.report("file", fmt::format("'{}' is not listed under [files]{}.", file, did_you_mean(file, known)));
    return file;
  }

  std::vector<std::string_view> variant_names() const {
    std::vector<std::string_view> names;
    for (auto const& variant : manifest_.variants) names.push_back(variant.name);
    return names;
  }

  Diagnosis& diagnosis_;
  TableReader root_;
  Manifest manifest_;
  std::map<std::string, std::string, std::less<>> files_;    // role by file
  std::map<std::string, int, std::less<>> variants_, moves_; // line by name
};

} // namespace

std::string_view to_string(NumericalClass value) { return numerical_class_names[static_cast<std::size_t>(value)]; }

Result<NumericalClass> numerical_class_from(std::string_view text) {
  auto const found = std::find(numerical_class_names.begin(), numerical_class_names.end(), text);
  if (found != numerical_class_names.end()) return static_cast<NumericalClass>(found - numerical_class_names.begin());
  std::vector<std::string_view> const known(numerical_class_names.begin(), numerical_class_names.end());
  return input_error(
      fmt::format("'{}' is not a class of numerical risk{}; known: {}.", text, did_you_mean(text, known), quoted_list(known)));
}

Result<Manifest> parse_manifest(std::string_view text, std::string const& file_name) {
  TIK_TRY(auto const document, parse_document(text, file_name));
  Diagnosis diagnosis(file_name);
  auto manifest = ManifestParser(document, diagnosis).parse();
  if (diagnosis.failed()) return tl::unexpected(diagnosis.error());
  return manifest;
}

Result<Manifest> load_manifest(std::filesystem::path const& folder) {
  TIK_TRY(auto const files, read_source_folder(folder));
  return load_manifest(folder, files);
}

Result<Manifest> load_manifest(std::filesystem::path const& folder, std::vector<SourceFile> const& files) {
  auto const file = folder / manifest_file;
  auto const text =
      std::find_if(files.begin(), files.end(), [](SourceFile const& found) { return found.name == manifest_file; });
  if (text == files.end()) return input_error(fmt::format("{}: there is no such file: check the path.", file.string()));
  TIK_TRY(auto manifest, parse_manifest(text->content, file.string()));
  std::set<std::string, std::less<>> present;
  for (auto const& found : files) present.insert(found.name);
  present.erase(std::string(manifest_file));
  for (auto const* role : {&manifest.full_files, &manifest.decode_files, &manifest.shared_files}) {
    for (auto const& listed : *role) {
      if (present.erase(listed) > 0) continue;
      return input_error(
          fmt::format("{}:1: [files]: '{}' is listed, but not in the folder: add the file or drop it from the list.",
                      file.string(), listed));
    }
  }
  if (!present.empty()) {
    return input_error(
        fmt::format("{}:1: [files]: '{}' is in the folder, but not listed: give it the role full, decode or shared.",
                    file.string(), *present.begin()));
  }
  return manifest;
}

} // namespace tik::spec
