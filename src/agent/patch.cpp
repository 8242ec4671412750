#include "src/agent/patch.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "src/report/format.h"

namespace tik::agent {
namespace {

using Lines = std::vector<std::string>; // each with its line break, but perhaps the last

Lines split(std::string const& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

struct Hunk {
  std::size_t patch_line = 0; // where it starts in the diff, from 1
  std::size_t first = 0;      // line of the old file that its header names, from 1; 0: none
  Lines before, after;
};

struct FilePatch {
  std::string from, to; // empty for /dev/null
  std::vector<Hunk> hunks;
};

std::string file_name(std::string_view line) {
  std::string_view name = line.substr(4);
  name = name.substr(0, name.find_first_of("\t\r\n"));
  if (name == "/dev/null") return "";
  if (name.starts_with("a/") || name.starts_with("b/")) name.remove_prefix(2);
  return std::string(name);
}

// The old line of "@@ -12,3 +12,4 @@"; 0 where there is none.
std::size_t old_line(std::string_view header) {
  std::size_t const minus = header.find('-');
  std::size_t line = 0;
  if (minus != std::string_view::npos) std::from_chars(header.data() + minus + 1, header.data() + header.size(), line);
  return line;
}

void drop_line_break(Lines& lines) {
  if (!lines.empty() && lines.back().ends_with('\n')) lines.back().pop_back();
}

class PatchReader {
 public:
  explicit PatchReader(std::string const& patch) : lines_(split(patch)) {}

  Result<std::vector<FilePatch>> read() {
    std::vector<FilePatch> files;
    while (at_ < lines_.size()) {
      if (starts_file()) {
        FilePatch file{file_name(lines_[at_]), file_name(lines_[at_ + 1]), {}};
        at_ += 2;
        while (at_ < lines_.size() && lines_[at_].starts_with("@@")) {
          TIK_TRY(Hunk hunk, read_hunk());
          file.hunks.push_back(std::move(hunk));
        }
        if (file.hunks.empty())
          return input_error(fmt::format("diff: line {}: no hunk (@@ -12,3 +12,4 @@) follows the names of a file.", at_ + 1));
        files.push_back(std::move(file));
      } else if (lines_[at_].starts_with("@@")) {
        return input_error(fmt::format("diff: line {}: a hunk comes before its file is named by --- and +++.", at_ + 1));
      } else {
        ++at_; // headers of tools, which say nothing that is needed
      }
    }
    if (files.empty()) return input_error("diff: it names no file: a unified diff starts with --- a/FILE and +++ b/FILE.");
    return files;
  }

 private:
  bool starts_file() const {
    return at_ + 1 < lines_.size() && lines_[at_].starts_with("--- ") && lines_[at_ + 1].starts_with("+++ ");
  }

  Result<Hunk> read_hunk() {
    Hunk hunk;
    hunk.patch_line = at_ + 1;
    hunk.first = old_line(lines_[at_]);
    char last = ' ';
    for (++at_; at_ < lines_.size(); ++at_) {
      std::string const& line = lines_[at_];
      if (line.starts_with("@@") || line.starts_with("diff --git ") || starts_file()) break;
      char const kind = line == "\n" || line == "\r\n" ? ' ' : line[0]; // an empty context line often lost its space
      std::string const content = line == "\n" || line == "\r\n" ? line : line.substr(1);
      if (kind == ' ' || kind == '-') hunk.before.push_back(content);
      if (kind == ' ' || kind == '+') hunk.after.push_back(content);
      if (kind == '\\') {
        if (last != '+') drop_line_break(hunk.before);
        if (last != '-') drop_line_break(hunk.after);
      } else if (kind != ' ' && kind != '-' && kind != '+') {
        return input_error(fmt::format("diff: line {}: it starts with '{}'; inside a hunk lines start with a space, - or +.",
                                       at_ + 1, report::one_line(line.substr(0, 20), 0)));
      }
      last = kind;
    }
    return hunk;
  }

  Lines lines_;
  std::size_t at_ = 0;
};

// A last line without its line break equals one with it at the end of the file: diffs are careless there.
bool same_line(std::string const& a, std::string const& b) {
  auto const bare = [](std::string const& line) { return std::string_view(line).substr(0, line.find('\n')); };
  return bare(a) == bare(b);
}

bool fits(Lines const& file, Lines const& before, std::size_t at) {
  if (at + before.size() > file.size()) return false;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!same_line(file[at + i], before[i])) return false;
  return true;
}

std::string where_it_differs(Lines const& file, Hunk const& hunk, std::size_t named) {
  for (std::size_t i = 0; i < hunk.before.size(); ++i) {
    std::string const wanted = report::one_line(hunk.before[i], 80);
    if (named + i >= file.size())
      return fmt::format("it expects \"{}\" at line {}, after the end of the file", wanted, named + i + 1);
    if (!same_line(file[named + i], hunk.before[i]))
      return fmt::format("it expects \"{}\" at line {}, and there is \"{}\"", wanted, named + i + 1,
                         report::one_line(file[named + i], 80));
  }
  return "it does not fit";
}

// The line before which the hunk applies, from 0.
Result<std::size_t> place_of(std::string const& name, Lines const& file, Hunk const& hunk, long shift) {
  auto const refuse = [&](std::string const& reason) {
    return input_error(fmt::format("{}: the hunk at line {} of the diff does not apply: {}.", name, hunk.patch_line, reason));
  };
  if (hunk.before.empty()) {
    std::size_t const line = static_cast<std::size_t>(std::max(0L, static_cast<long>(hunk.first) + shift));
    if (line > file.size()) return refuse(fmt::format("it adds after line {}, and the file has {}", line, file.size()));
    return line;
  }
  long const named = static_cast<long>(hunk.first) - 1 + shift;
  if (named >= 0 && fits(file, hunk.before, static_cast<std::size_t>(named))) return static_cast<std::size_t>(named);
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at + hunk.before.size() <= file.size(); ++at)
    if (fits(file, hunk.before, at)) places.push_back(at);
  if (places.size() == 1) return places.front();
  if (places.empty()) return refuse(where_it_differs(file, hunk, static_cast<std::size_t>(std::max(0L, named))));
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < places.size() && i < 5; ++i) lines.push_back(std::to_string(places[i] + 1));
  return refuse(fmt::format("its lines stand in {} places (lines {}); give more lines around the change", places.size(),
                            report::join(lines, ", ")));
}

Result<std::string> patched(FilePatch const& file, std::string const& text) {
  Lines lines = split(text);
  long shift = 0;
  for (Hunk const& hunk : file.hunks) {
    TIK_TRY(std::size_t const at, place_of(file.from.empty() ? file.to : file.from, lines, hunk, shift));
    bool const at_end = at + hunk.before.size() == lines.size();
    auto const begin = lines.begin() + static_cast<std::ptrdiff_t>(at);
    auto const next = lines.erase(begin, begin + static_cast<std::ptrdiff_t>(hunk.before.size()));
    lines.insert(next, hunk.after.begin(), hunk.after.end());
    shift += static_cast<long>(hunk.after.size()) - static_cast<long>(hunk.before.size());
    for (std::size_t i = at; i < at + hunk.after.size(); ++i)
      if (!lines[i].ends_with('\n') && !(at_end && i + 1 == lines.size())) lines[i] += '\n';
  }
  std::string result;
  for (std::string const& line : lines) result += line;
  return result;
}

} // namespace

Result<std::string> replace_once(std::string const& name, std::string const& text, std::string const& find,
                                 std::string const& replace) {
  if (find.empty()) return input_error(fmt::format("{}: the text to find is empty.", name));
  std::size_t const at = text.find(find);
  if (at == std::string::npos) {
    std::string const first = find.substr(0, find.find('\n'));
    std::size_t const near = first.empty() ? std::string::npos : text.find(first);
    std::string const hint =
        near == std::string::npos || first == find
            ? "read the file again and copy the text as it stands, spaces and line breaks included"
            : fmt::format("its first line stands at line {}, but what follows differs",
                          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(near), '\n'));
    return input_error(fmt::format("{}: the text to find is not there: {}.", name, hint));
  }
  if (std::size_t const again = text.find(find, at + 1); again != std::string::npos)
    return input_error(fmt::format("{}: the text to find is there more than once (lines {} and {}); find a longer text.", name,
                                   1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'),
                                   1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(again), '\n')));
  return std::string(text).replace(at, find.size(), replace);
}

Result<Changes> apply_patch(Contents const& tree, std::string const& patch) {
  TIK_TRY(std::vector<FilePatch> const files, PatchReader(patch).read());
  Changes changes;
  for (FilePatch const& file : files) {
    if (file.from.empty() && file.to.empty()) return input_error("diff: a file is both added and removed.");
    std::string const& name = file.from.empty() ? file.to : file.from;
    if (changes.contains(name) || changes.contains(file.to))
      return input_error(fmt::format("{}: the diff names it twice.", name));
    auto const found = tree.find(name);
    if (file.from.empty() && found != tree.end())
      return input_error(fmt::format("{}: the diff adds it, and it is there already.", name));
    if (!file.from.empty() && found == tree.end())
      return input_error(fmt::format("{}: the diff changes it, and there is no such file.", name));
    TIK_TRY(std::string content, patched(file, file.from.empty() ? std::string() : found->second));
    if (file.to.empty() && !content.empty())
      return input_error(fmt::format("{}: the diff removes it, but not all of its lines.", name));
    if (file.to != file.from && !file.from.empty()) changes[file.from] = std::nullopt;
    if (!file.to.empty()) changes[file.to] = std::move(content);
  }
  return changes;
}

} // namespace tik::agent
