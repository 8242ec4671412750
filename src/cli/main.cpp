// The `tik` command: parse, execute, turn errors into one sentence and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "src/cli/commands.h"
#include "src/cli/completion.h"
#include "src/cli/parse.h"
#include "src/evaluator/evaluator.h"

namespace tik::cli {

Result<int> execute(Completion const& options, Console const&) {
  print(completion_script(command_tree(), options.shell));
  return 0;
}

namespace {

int run_command(int argc, char** argv) {
  std::variant<Command, Answer> const parsed = parse(argc, argv);
  if (auto const* answer = std::get_if<Answer>(&parsed)) {
    std::FILE* const stream = answer->exit_code == 0 ? stdout : stderr;
    fmt::print(stream, "{}", answer->text);
    return answer->exit_code;
  }
  Console const console = detect_console();
  Result<int> const result =
      std::visit([&](auto const& options) { return execute(options, console); }, std::get<Command>(parsed));
  Result<void> const written = flush_output();
  if (!result) return report_error(result.error());
  return written ? *result : report_error(written.error());
}

} // namespace
} // namespace tik::cli

int main(int argc, char** argv) {
  // The evaluator starts this program again as the process that loads a candidate.
  if (argc > 1 && std::string_view(argv[1]) == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  try {
    return tik::cli::run_command(argc, argv);
  } catch (std::exception const& failure) {
    fmt::print(stderr, "tik: Internal error: {}. Nothing recorded so far is lost; please report it.\n", failure.what());
    return 3;
  }
}
