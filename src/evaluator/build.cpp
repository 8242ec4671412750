#include "src/evaluator/build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "src/base/files.h"
#include "src/base/sha256.h"
#include "src/evaluator/build_cache.h"
#include "src/evaluator/embedded_contract.h"
#include "src/evaluator/ptxas.h"
#include "src/evaluator/remarks.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/text.h"
#include "src/evaluator/version.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view search_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin";
constexpr char library_file[] = "library.so";

struct Folders {
  Mount source, include, output, temporary;
  std::uint32_t user = 0; // who may write to the output
};

Result<Folders> make_folders(BuildPlan const& plan, fs::path const& scratch) {
  TIK_TRY(fs::path const include, make_folder(scratch, "include"));
  for (EmbeddedFile const& file : contract_files()) {
    TIK_TRY(fs::path const folder, make_folder(include, fs::path(file.path).parent_path().string()));
    TIK_CHECK(write_file(include / file.path, file.content, Flush::no));
  }
  TIK_TRY(fs::path const output, make_folder(scratch, "output"));
  TIK_TRY(fs::path const temporary, make_folder(scratch, "temporary"));
  std::uint32_t const user = contained_user();
  if (plan.layers.separate_user) TIK_CHECK(hand_over(output, user));
  return Folders{{plan.source, "/source", false},
                 {include, "/include", false},
                 {output, "/output", true},
                 {temporary, "/tmp", true},
                 user};
}

std::string replaced(std::string text, std::string_view from, std::string const& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> command_line(BuildPlan const& plan, spec::Manifest const& manifest, Folders const& folders) {
  std::vector<std::string> command;
  for (std::string const& word : manifest.build_command) {
    std::string const output = seen_path(plan.layers, folders.output) + "/" + library_file;
    command.push_back(replaced(replaced(word, "{include}", seen_path(plan.layers, folders.include)), "{output}", output));
  }
  if (!command.empty() && gives_remarks(command[0])) command.emplace_back(remarks_flag);
  if (!command.empty() && is_nvcc(command[0])) command.insert(command.end(), {"-Xptxas", "-v"});
  return command;
}

ChildPlan child_plan(BuildPlan const& plan, Folders const& folders, std::vector<std::string> command, fs::path const& staging) {
  ChildPlan child;
  child.command = std::move(command);
  std::string const temporary = seen_path(plan.layers, folders.temporary);
  child.environment = {"PATH=" + std::string(search_path), "HOME=" + temporary, "TMPDIR=" + temporary, "LANG=C.UTF-8"};
  child.mounts = {folders.source, folders.include, folders.output};
  child.working_directory = seen_path(plan.layers, folders.source);
  child.staging = staging;
  child.layers = plan.layers;
  child.filter = CallFilter::build;
  child.memory_mb = plan.limits.memory_mb;
  child.cpu_seconds = plan.limits.seconds * 2;
  child.file_mb = plan.limits.file_mb;
  child.processes = plan.limits.processes;
  child.user = folders.user;
  return child;
}

// What stands for a compiler in the key of the cache: where it is, how large, and when it was installed.
std::string compiler_identity(std::string const& name) {
  std::vector<fs::path> places;
  if (name.find('/') != std::string::npos) {
    places.emplace_back(name);
  } else {
    for (std::size_t begin = 0; begin <= search_path.size();) {
      std::size_t const end = std::min(search_path.find(':', begin), search_path.size());
      places.push_back(fs::path(search_path.substr(begin, end - begin)) / name);
      begin = end + 1;
    }
  }
  for (fs::path const& place : places) {
    struct stat found {};
    if (stat(place.c_str(), &found) != 0) continue;
    return fmt::format("{} {} {}", place.string(), found.st_size, found.st_mtim.tv_sec);
  }
  return name;
}

std::string cache_key(BuildPlan const& plan, spec::Manifest const& manifest) {
  std::string text = plan.source_sha256;
  for (std::string const& word : manifest.build_command) text += '\0' + word;
  text += '\0' + compiler_identity(manifest.build_command[0]);
  for (EmbeddedFile const& file : contract_files()) text += '\0' + sha256_hex(file.content);
  return sha256_hex(text + '\0' + std::string(evaluator_version));
}

// The line that a person looks for first.
std::string first_error(std::string const& log) {
  std::string first;
  for (std::size_t begin = 0; begin < log.size();) {
    std::size_t const end = std::min(log.find('\n', begin), log.size());
    std::string const line = log.substr(begin, end - begin);
    if (line.find("error:") != std::string::npos || line.find("Error") != std::string::npos) return line;
    if (first.empty()) first = line;
    begin = end + 1;
  }
  return first;
}

Evidence remarks_evidence(bool available, RemarkReader const& reader, std::string const& compiler) {
  Evidence evidence;
  evidence.name = "compiler";
  if (is_nvcc(compiler)) {
    evidence.available = true;
    evidence.source = compiler + " -Xptxas -v";
    evidence.data = summarize_ptxas(reader.log());
    return evidence;
  }
  evidence.available = available;
  evidence.source = compiler + " " + std::string(remarks_flag);
  if (available) {
    evidence.data = reader.summary();
  } else {
    evidence.reason = "Vectorization remarks are read from GCC only, and the build command starts " + compiler + ".";
  }
  return evidence;
}

// The library that a build left; it must be a plain file, because whoever reads it is not contained.
Checked<std::string> read_library(fs::path const& file) {
  struct stat found {};
  if (lstat(file.c_str(), &found) != 0) {
    return candidate_failure("The build ended without an error, but wrote no library to {output}.");
  }
  if (!S_ISREG(found.st_mode)) return candidate_failure("What the build wrote to {output} is no plain file.");
  Result<std::string> content = read_file(file);
  if (!content) return machine_failure(content.error());
  if (!content->starts_with("\x7f"
                            "ELF"))
    return candidate_failure("What the build wrote to {output} is no ELF library.");
  return std::move(*content);
}

constexpr std::uintmax_t megabyte = 1 << 20, least_room = 64 * megabyte, full_below = megabyte;

std::uintmax_t free_bytes(fs::path const& folder) {
  std::error_code error;
  fs::space_info const space = fs::space(folder, error);
  return error ? least_room : space.available; // what cannot be known is no reason to stop
}

std::uintmax_t bytes_below(fs::path const& folder) {
  std::error_code error;
  std::uintmax_t total = 0;
  for (auto const& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error))
    if (entry.is_regular_file(error)) total += entry.file_size(error);
  return total;
}

Error no_room(fs::path const& folder, std::uintmax_t free) {
  return {ErrorKind::machine, fmt::format("{}: {} MiB are free there, and a build needs {}: free space and run again.",
                                          folder.string(), free / megabyte, least_room / megabyte)};
}

// A full disk makes any build fail. It is the candidate's fault only when the build itself wrote most of what was free.
bool filled_by_others(fs::path const& scratch, std::uintmax_t free_before) {
  return free_bytes(scratch) < full_below && bytes_below(scratch) < free_before / 2;
}

} // namespace

Checked<Built> build(BuildPlan const& plan, spec::Manifest const& manifest) {
  if (manifest.build_command.empty()) return candidate_failure("The manifest has an empty build command.");
  std::string const key = cache_key(plan, manifest);
  if (auto cached = find_cached(plan.build_cache, key)) return std::move(*cached);
  std::uintmax_t const free_before = free_bytes(plan.scratch);
  if (free_before < least_room) return machine_failure(no_room(plan.scratch, free_before));
  Result<ScratchFolder> const scratch = ScratchFolder::make(plan.scratch, "build");
  if (!scratch) return machine_failure(scratch.error());
  Result<Folders> const folders = make_folders(plan, scratch->path());
  if (!folders) return machine_failure(folders.error());
  Result<fs::path> const staging = make_folder(plan.scratch, staging_folder);
  if (!staging) return machine_failure(staging.error());
  std::vector<std::string> const command = command_line(plan, manifest, *folders);
  RemarkReader reader(static_cast<std::size_t>(plan.limits.log_kb) << 10);
  Child::Options options;
  options.seconds = plan.limits.seconds;
  options.cancel = plan.cancel;
  options.on_output = [&](std::string_view piece) { reader.feed(piece); };
  Result<RunResult> const result = run(child_plan(plan, *folders, command, *staging), std::move(options));
  if (!result) return machine_failure(result.error());
  reader.finish();
  Exit const& exit = result->exit;
  if (exit.cancelled) return machine_failure({ErrorKind::cancelled, "The evaluation was cancelled."});
  Json words = Json::array();
  for (std::string const& word : command) words.push_back(valid_utf8(word));
  Json details = {{"command", words},
                  {"log", valid_utf8(reader.log())},
                  {"log_bytes", reader.log_total()},
                  {"log_cut", reader.log_total() > reader.log().size()},
                  {"seconds", exit.seconds},
                  {"cpu_seconds", exit.cpu_seconds},
                  {"peak_memory_kb", exit.peak_memory_kb},
                  {"cached", false}};
  if (!exit.success() && filled_by_others(scratch->path(), free_before))
    return machine_failure(no_room(plan.scratch, free_bytes(plan.scratch)));
  if (!exit.success()) {
    std::string const reason = valid_utf8(first_error(reader.log()));
    return candidate_failure(
        fmt::format("The build {}{}{}.", describe(exit, plan.limits.seconds), reason.empty() ? "" : ": ", reason),
        std::move(details));
  }
  Checked<std::string> const library = read_library(folders->output.host / library_file);
  if (!library) {
    Failure failure = library.error();
    if (!failure.error) failure.details = std::move(details);
    return tl::unexpected(std::move(failure));
  }
  details["library_bytes"] = library->size();
  Built built{{},
              library_file,
              sha256_hex(*library),
              std::move(details),
              remarks_evidence(gives_remarks(command[0]), reader, valid_utf8(command[0]))};
  Result<fs::path> const kept = keep_built(plan.build_cache, key, plan.scratch, *library, built);
  if (!kept) return machine_failure(kept.error());
  built.folder = *kept;
  return built;
}

} // namespace tik::evaluator
