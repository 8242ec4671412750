#include "src/evaluator/host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/evaluator/process.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/text.h"

extern char** environ;

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view bundle_word = "{bundle}", out_word = "{out}";
constexpr std::int64_t largest_file_mb = 1024; // that the command may write here
constexpr std::size_t kept_words = 2000;       // of what the command said last
constexpr int refused_exit_code = 2;           // of tik: bad input, which no retry makes better

bool has_placeholders(std::string const& text) { return text.find(bundle_word) != std::string::npos; }

std::string quoted(std::string const& text) {
  std::string result = "'";
  for (char const c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + '\'';
}

std::string replaced(std::string text, std::string_view what, std::string const& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

struct Files {
  fs::path bundle, out, standard_output;
};

// One line for /bin/sh.
std::string command_line(HostCommand const& command, Files const& files, std::string const& bundle_sha256) {
  if (has_placeholders(command.text))
    return replaced(replaced(command.text, bundle_word, quoted(files.bundle.string())), out_word, quoted(files.out.string()));
  return fmt::format("{} evaluate --bundle - --out tik-reports-{:.16} --json", command.text, bundle_sha256);
}

// The host is trusted, and so is the command, which the user gave: limits only, no containment.
ChildPlan child_plan(std::string const& line, Files const& files) {
  ChildPlan plan;
  plan.command = {
      "/bin/sh", "-c", "exec <\"$1\" >\"$2\"; eval \"$3\"", "sh", files.bundle.string(), files.standard_output.string(), line};
  for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.emplace_back(*entry);
  std::error_code ignored;
  plan.working_directory = fs::current_path(ignored).string();
  if (ignored) plan.working_directory = "/";
  plan.file_mb = largest_file_mb;
  return plan;
}

// The last line that says something.
std::string last_words(std::string const& output) {
  std::size_t const end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  std::size_t const begin = output.find_last_of("\r\n", end);
  return valid_utf8(
      output.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1));
}

// What one try brought, or why it failed.
struct Try {
  std::vector<HostReport> reports;
  std::string problem;
  bool final = false; // another try would fail alike
};

Result<std::vector<HostReport>> fetched(HostCommand const& command, Files const& files) {
  if (has_placeholders(command.text)) return read_reports(files.out);
  std::string const place = "what the host sent";
  TIK_TRY(std::string const text, read_file(files.standard_output));
  TIK_TRY(Json const json, parse_json(text, place));
  return host_reports_from(json, place);
}

// The reports in the order of the candidates; every one must be there and be about what was asked.
Result<std::vector<HostReport>> in_order(Bundle const& bundle, std::vector<HostReport> reports) {
  std::vector<HostReport> ordered;
  for (BundledSource const& candidate : bundle.candidates) {
    auto const found =
        std::find_if(reports.begin(), reports.end(), [&](HostReport const& entry) { return entry.id == candidate.id; });
    if (found == reports.end()) return input_error(fmt::format("the report on {} is missing.", candidate.id));
    TIK_CHECK(answers(*found, expected_of(bundle, candidate), bundle.specification));
    ordered.push_back(std::move(*found));
  }
  return ordered;
}

Result<Try> try_once(HostCommand const& command, HostTask const& task, Files const& files, std::string const& line) {
  std::string words;
  Child::Options options;
  options.seconds = command.seconds;
  options.cancel = task.cancel;
  options.on_output = [&](std::string_view piece) {
    words += piece;
    if (words.size() > 2 * kept_words) words.erase(0, words.size() - kept_words);
  };
  TIK_TRY(RunResult const result, run(child_plan(line, files), std::move(options)));
  Exit const& exit = result.exit;
  if (exit.cancelled) return tl::unexpected(Error{ErrorKind::cancelled, "The evaluation was cancelled."});
  std::string const said = last_words(words);
  if (!exit.success())
    return Try{{},
               fmt::format("the command {}{}", describe(exit, command.seconds), said.empty() ? "" : ": " + said),
               exit.exited && exit.code == refused_exit_code};
  Result<std::vector<HostReport>> reports = fetched(command, files);
  if (reports) reports = in_order(task.bundle, std::move(*reports));
  if (!reports) return Try{{}, reports.error().message, false};
  return Try{std::move(*reports), {}, false};
}

// Waits before another try, as long as nobody cancels.
void pause(double seconds, std::atomic<bool> const* cancel) {
  auto const end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && (cancel == nullptr || !cancel->load()))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

} // namespace

Result<void> check_host_command(HostCommand const& command) {
  if (command.text.find_first_not_of(" \t\r\n") == std::string::npos)
    return input_error("The runner has no command: give one that reaches the host, for example 'ssh gpu tik'.");
  if (has_placeholders(command.text) != (command.text.find(out_word) != std::string::npos))
    return input_error(fmt::format("The runner \"{}\" has only one of {} and {}: it needs both, or neither.", command.text,
                                   bundle_word, out_word));
  return {};
}

Result<std::vector<HostReport>> evaluate_on_host(HostCommand const& command, HostTask const& task) {
  TIK_CHECK(check_host_command(command));
  TIK_TRY(ScratchFolder const scratch, ScratchFolder::make(fs::absolute(task.scratch), "host"));
  Files const files{scratch.path() / "bundle", scratch.path() / "reports", scratch.path() / "output"};
  TIK_TRY(std::string const bytes, encode_bundle(task.bundle));
  TIK_CHECK(write_file(files.bundle, bytes));
  TIK_TRY(fs::path const made, make_folder(scratch.path(), "reports"));
  std::string const line = command_line(command, files, sha256_hex(bytes));
  std::string problem;
  for (int number = 1; number <= command.tries; ++number) {
    TIK_TRY(Try attempt, try_once(command, task, files, line));
    if (attempt.problem.empty()) return std::move(attempt.reports);
    problem = std::move(attempt.problem);
    if (attempt.final) return input_error(fmt::format("The host refused the bundle: {}", problem));
    if (number == command.tries) break;
    double const wait = std::min(30.0, 0.5 * (1 << (2 * number)));
    if (task.say)
      task.say(fmt::format("try {} of {} on the host failed: {}; another one in {:g} s", number, command.tries, problem, wait));
    pause(wait, task.cancel);
    if (task.cancel != nullptr && task.cancel->load())
      return tl::unexpected(Error{ErrorKind::cancelled, "The evaluation was cancelled."});
  }
  return machine_error(
      fmt::format("The host gave no reports in {} {}: {}. Nothing was recorded; try again when it can be reached.",
                  command.tries, command.tries == 1 ? "try" : "tries", problem));
}

} // namespace tik::evaluator
