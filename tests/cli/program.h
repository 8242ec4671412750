// Runs the real `tik` and keeps what it said.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace tik::cli::test {

using tik::test::TemporaryFolder;

inline std::string slurp(std::filesystem::path const& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void spill(std::filesystem::path const& file, std::string const& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

struct Outcome {
  int exit_code = -1;
  std::string out, err;
  double seconds = 0;
};

// A running `tik`. Output goes to files, so that it never waits for a reader. The environment is that of a plain session:
// UTF-8, no TIK_DIR, whatever `environment` adds.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {},
                   std::string const& working_directory = "/") {
    std::vector<char*> words;
    arguments.insert(arguments.begin(), TIK_BINARY);
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      unsetenv("TIK_DIR");
      unsetenv("LC_ALL");
      setenv("LANG", "C.UTF-8", 1);
      for (auto const& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      redirect(out_file(), STDOUT_FILENO);
      redirect(err_file(), STDERR_FILENO);
      int const nothing = open("/dev/null", O_RDONLY);
      dup2(nothing, STDIN_FILENO);
      if (chdir(working_directory.c_str()) == 0) execv(words[0], words.data());
      _exit(127);
    }
  }
  ~Program() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }
  Program(Program const&) = delete;
  Program& operator=(Program const&) = delete;

  void signal(int number) const { kill(child_, number); }
  pid_t process() const { return child_; }
  std::string out_so_far() const { return slurp(out_file()); }

  // Until `text` was printed; false when the program ended or the time was up before.
  bool wait_for_output(std::string const& text, double seconds) {
    for (auto const end = deadline(seconds); std::chrono::steady_clock::now() < end; pause()) {
      if (out_so_far().find(text) != std::string::npos) return true;
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child_)
        return out_so_far().find(text) != std::string::npos;
    }
    return false;
  }

  // To its end, or to its kill after `seconds` (exit code -1).
  Outcome finish(double seconds = 300) {
    Outcome outcome;
    auto const begin = std::chrono::steady_clock::now();
    int status = 0;
    for (auto const end = deadline(seconds); child_ > 0; pause()) {
      if (waitpid(child_, &status, WNOHANG) == child_) {
        outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        child_ = -1;
      } else if (std::chrono::steady_clock::now() > end) {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        child_ = -1;
      }
    }
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    outcome.out = out_so_far();
    outcome.err = slurp(err_file());
    return outcome;
  }

 private:
  static std::chrono::steady_clock::time_point deadline(double seconds) {
    return std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<long long>(seconds * 1e6));
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
  static void redirect(std::filesystem::path const& file, int descriptor) {
    int const opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(opened, descriptor);
  }
  std::filesystem::path out_file() const { return folder_.path() / "out"; }
  std::filesystem::path err_file() const { return folder_.path() / "err"; }

  TemporaryFolder folder_;
  pid_t child_ = -1;
};

inline Outcome tik(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {},
                   std::string const& working_directory = "/") {
  return Program(std::move(arguments), std::move(environment), working_directory).finish();
}

// The one JSON document that standard output is.
inline nlohmann::ordered_json json_of(Outcome const& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  auto json = nlohmann::ordered_json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.out;
  return json;
}

// Bad input: exit code 2, one sentence on standard error that holds every word of `words`, nothing on standard output.
inline void expect_bad_input(Outcome const& outcome, std::vector<std::string> const& words) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("tik: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (std::string const& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << word << " in: " << outcome.err;
}

// Every file below a folder with its content, to see that nothing changed. What a search may write at any time is left out: its
// lock, its scratch folder, git objects that nothing refers to, and the database file, whose records are compared by
// records_of().
inline std::map<std::string, std::string> content_of(std::filesystem::path const& folder) {
  std::map<std::string, std::string> files;
  if (!std::filesystem::exists(folder)) return files;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string const name = std::filesystem::relative(entry.path(), folder).string();
    if (name == "lock" || name.starts_with("work") || name.starts_with("search.db") || name.starts_with("sources.git/objects"))
      continue;
    files[name] = entry.is_regular_file() ? slurp(entry.path()) : "";
  }
  return files;
}

} // namespace tik::cli::test
