// Source text: files with line numbers, lines that hold a text, differences.
#include <fmt/format.h>

#include <algorithm>

#include "src/agent/toolbox.h"
#include "src/ir/any_id.h"

namespace tik::agent {
namespace {

template <class Visit>
void each_numbered_line(std::string const& text, Visit visit) {
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    visit(++number, std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string_view role_in(spec::Manifest const& manifest, std::string const& file) {
  auto const lists = [&](std::vector<std::string> const& files) {
    return std::find(files.begin(), files.end(), file) != files.end();
  };
  if (file == spec::manifest_file) return "manifest";
  return lists(manifest.full_files)     ? "full"
         : lists(manifest.decode_files) ? "decode"
         : lists(manifest.shared_files) ? "shared"
                                        : "no role";
}

// The part of a unified diff that is about one file.
std::string only_file(std::string const& diff, std::string const& file) {
  std::string kept;
  bool keep = false;
  each_numbered_line(diff, [&](std::int64_t, std::string_view line) {
    if (line.starts_with("diff --git ")) keep = line.ends_with(" b/" + file);
    if (keep) kept.append(line) += '\n';
  });
  return kept;
}

} // namespace

Result<std::vector<SourceFile>> Toolbox::files_of(std::string const& which) const {
  if (which == "draft") {
    TIK_TRY(Draft const* draft, this->draft());
    return read_source_folder(draft->folder);
  }
  TIK_TRY(ir::ImplementationId const id, ir::parse_id<'I'>(which));
  TIK_CHECK(sight().may_see(id));
  View const view = desk_.view();
  TIK_TRY(ir::Implementation const implementation, view.store.implementation(id));
  return view.sources.files(implementation.commit);
}

Result<std::string> Toolbox::read_source(Arguments const& arguments) {
  std::string const which = arguments.text("implementation"), file = arguments.text("file"), find = arguments.text("find");
  TIK_TRY(std::vector<SourceFile> const files, files_of(which));
  std::string answer;
  if (file.empty() && find.empty()) {
    auto const manifest_text =
        std::find_if(files.begin(), files.end(), [](SourceFile const& entry) { return entry.name == spec::manifest_file; });
    spec::Manifest manifest;
    if (manifest_text != files.end()) {
      auto parsed = spec::parse_manifest(manifest_text->content, std::string(spec::manifest_file));
      if (parsed) manifest = std::move(*parsed);
    }
    for (SourceFile const& entry : files)
      answer += fmt::format("{}: {} lines, {}\n", entry.name, std::count(entry.content.begin(), entry.content.end(), '\n'),
                            role_in(manifest, entry.name));
    return answer;
  }
  if (!file.empty() && std::none_of(files.begin(), files.end(), [&](SourceFile const& entry) { return entry.name == file; }))
    return input_error(fmt::format("{}: {} has no such file; without a file its files are listed.", file, which));
  std::int64_t const first = arguments.integer("first_line", 1), last = arguments.integer("last_line", INT64_MAX);
  std::int64_t lines = 0;
  for (SourceFile const& entry : files) {
    if (!file.empty() && entry.name != file) continue;
    each_numbered_line(sight().shown_source(entry.name, entry.content), [&](std::int64_t number, std::string_view line) {
      lines = number;
      if (number < first || number > last || (!find.empty() && line.find(find) == std::string_view::npos)) return;
      answer += find.empty() ? fmt::format("{:>5} | {}\n", number, line) : fmt::format("{}:{}: {}\n", entry.name, number, line);
    });
  }
  if (answer.empty() && !find.empty()) return fmt::format("No line holds \"{}\".\n", find);
  if (answer.empty()) return input_error(fmt::format("{}: it has {} lines.", file, lines));
  return answer;
}

Result<std::string> Toolbox::diff(Arguments const& arguments) {
  std::string const to = arguments.text("to"), file = arguments.text("file");
  TIK_TRY(ir::ImplementationId const from, ir::parse_id<'I'>(arguments.text("from")));
  TIK_CHECK(sight().may_see(from));
  View const view = desk_.view();
  TIK_TRY(ir::Implementation const left, view.store.implementation(from));
  ir::Difference difference;
  if (to == "draft") {
    TIK_TRY(Draft const* draft, this->draft());
    TIK_TRY(difference, view.sources.diff_folder(left.commit, draft->folder));
  } else {
    TIK_TRY(ir::ImplementationId const id, ir::parse_id<'I'>(to));
    TIK_CHECK(sight().may_see(id));
    TIK_TRY(ir::Implementation const right, view.store.implementation(id));
    TIK_TRY(difference, view.sources.diff(left.commit, right.commit));
  }
  std::string const text = sight().shown_diff(difference.text);
  std::string shown = file.empty() ? text : only_file(text, file);
  return shown.empty() ? std::string("No difference.\n") : shown;
}

} // namespace tik::agent
