#include "tests/cheat/trial.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>

#include "src/base/files.h"
#include "src/evaluator/evaluator.h"
#include "src/evaluator/scratch.h"
#include "src/spec/specification.h"
#include "tests/evaluator/candidates.h"
#include "tests/evaluator/leftovers.h"

namespace tik::cheat {
namespace {

namespace fs = std::filesystem;
using evaluator::Outcome;
using evaluator::Report;
using evaluator::Stage;

// Where somebody listens and nobody may come.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bool const bound = bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(socket_, 8) == 0;
    if (bound && getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;

  int port() const { return port_; } // 0: this machine has no loopback
  bool visited() const {
    int const visitor = accept(socket_, nullptr, nullptr);
    if (visitor >= 0) close(visitor);
    return visitor >= 0;
  }

 private:
  int socket_, port_ = 0;
};

// A folder that anybody may write, with a secret that anybody may read: only containment keeps a candidate from it.
struct Canary {
  fs::path folder;
  std::string secret;
};

Result<Canary> make_canary(fs::path const& parent) {
  std::random_device random;
  Canary canary{parent / "canary", fmt::format("secret-{:08x}{:08x}", random(), random())};
  fs::create_directory(canary.folder);
  fs::permissions(parent, fs::perms(0755));
  fs::permissions(canary.folder, fs::perms(0777));
  TIK_CHECK(write_file(canary.folder / "secret.h", "// " + canary.secret + "\n"));
  fs::permissions(canary.folder / "secret.h", fs::perms(0666));
  return canary;
}

// Files outside the scratch folder that a candidate may have made: by its user, or by the name that candidates use.
std::vector<std::string> stray_files() {
  std::vector<std::string> strays;
  for (char const* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    std::error_code error;
    for (fs::directory_entry const& entry : fs::directory_iterator(place, error)) {
      struct stat found {};
      if (lstat(entry.path().c_str(), &found) != 0) continue;
      bool const named = entry.path().filename().string().starts_with("tik-cheat");
      if (evaluator::is_contained_user(found.st_uid) || named) strays.push_back(entry.path().string());
    }
  }
  return strays;
}

// Everything that must hold after an evaluation, whatever the candidate did.
class Examination {
 public:
  Examination(Candidate const& candidate, Report const& report) : candidate_(candidate), report_(report) {}

  void outcome() {
    Stage const* const failed = failed_stage();
    if (failed == nullptr) {
      find("no stage failed");
      return;
    }
    if (std::find(candidate_.stages.begin(), candidate_.stages.end(), failed->name) == candidate_.stages.end()) {
      find(fmt::format("ended in {} instead of {}", failed->name, fmt::join(candidate_.stages, " or ")));
    }
    if (failed->message.find(candidate_.words) == std::string::npos) {
      find(fmt::format("the message lacks {:?}", candidate_.words));
    }
    double const limit = failed->name == "build" ? candidate_.build_seconds : candidate_.run_seconds;
    if (candidate_.hangs && failed->seconds > limit + 2) {
      find(fmt::format("took {:.1f} s with a limit of {} s", failed->seconds, limit));
    }
    bool after = false;
    for (Stage const& stage : report_.stages) {
      if (after && stage.outcome != Outcome::skipped) find(fmt::format("{} was not skipped", stage.name));
      after = after || &stage == failed;
    }
    if (!report_.workloads.empty()) find("it has latencies");
  }

  // What may be verified must not be faster than the root beside it.
  void no_gain() {
    for (evaluator::WorkloadMeasurement const& workload : report_.workloads) {
      if (workload.ratio < 0.95) find(fmt::format("{} took {:.3f} of the root's time", workload.id, workload.ratio));
    }
  }
  void finds_other_kernels() {
    if (candidate_.evidence.empty()) return;
    evaluator::Json const dispatch = report_.evidence.empty() ? evaluator::Json() : report_.evidence.front().data;
    if (!dispatch.is_object()) return find("there is no dispatch evidence");
    std::string const found = dispatch.value("differences", evaluator::Json::array()).dump();
    if (found.find(candidate_.evidence) == std::string::npos) find("the dispatch evidence does not show it: " + found);
  }
  std::string best_ratio() const {
    double best = INFINITY;
    for (evaluator::WorkloadMeasurement const& workload : report_.workloads) best = std::min(best, workload.ratio);
    return fmt::format("passed: at best {:.3f} of the root's time", best);
  }

  void success(spec::Specification const& specification) {
    if (!report_.verified() || !report_.measured(specification)) find("the honest root is not verified and measured");
  }

  void report_reads_back() {
    try {
      auto const again = evaluator::report_from_json(evaluator::Json::parse(to_json(report_).dump()));
      if (!again) find("its report does not read back: " + again.error().message);
    } catch (evaluator::Json::exception const& error) {
      find(std::string("its report is no JSON: ") + error.what());
    }
  }

  void surroundings(Canary const& canary, Listener const& listener, fs::path const& scratch) {
    if (to_json(report_).dump().find(canary.secret) != std::string::npos) find("it read a file outside its folder");
    Result<std::string> const secret = read_file(canary.folder / "secret.h");
    if (!secret || *secret != "// " + canary.secret + "\n") find("it changed a file outside its folder");
    if (std::distance(fs::directory_iterator(canary.folder), fs::directory_iterator()) != 1) {
      find("it wrote outside its folder");
    }
    if (listener.visited()) find("it reached the network");
    if (!fs::is_empty(scratch)) find("something was left in the scratch folder");
    for (std::string const& stray : stray_files()) find("it left " + stray);
    for (std::string const& process : evaluator::left_processes()) find("it left the process " + process);
  }

  Stage const* failed_stage() const {
    for (Stage const& stage : report_.stages) {
      if (stage.outcome == Outcome::failed) return &stage;
    }
    return nullptr;
  }
  std::vector<std::string> const& findings() const { return findings_; }

 private:
  void find(std::string finding) { findings_.push_back(std::move(finding)); }

  Candidate const& candidate_;
  Report const& report_;
  std::vector<std::string> findings_;
};

} // namespace

namespace {

Result<spec::Specification> specification_of(Candidate const& candidate, Ground const& ground) {
  TIK_TRY(
      spec::Specification specification,
      ground.specification.empty()
          ? spec::parse_specification(evaluator::small_specification(candidate.run_seconds, candidate.build_seconds), "small")
          : spec::load_specification(ground.specification));
  specification.run_limits.seconds = candidate.run_seconds;
  specification.build_limits.seconds = candidate.build_seconds;
  specification.measurement.rounds = specification.measurement.max_rounds = candidate.rounds;
  return specification;
}

// Where an evaluation finds and leaves things.
struct Folders {
  fs::path source, scratch, builds;
};

evaluator::Request request_for(spec::Specification const& specification, Folders const& folders) {
  return {.specification = specification,
          .seal = spec::seal(specification),
          .source = folders.source,
          .incumbent = std::nullopt,
          .incumbent_latency_us = {},
          .scratch = folders.scratch,
          .build_cache = folders.builds,
          .progress = {},
          .cancel = nullptr};
}

// Beside the root: what gains nothing is no faster than it in any workload.
Result<Report> evaluate_beside_root(spec::Specification const& specification, Folders const& folders, fs::path const& root) {
  TIK_TRY(Report const alone, evaluator::evaluate(request_for(specification, {root, folders.scratch, folders.builds})));
  evaluator::Request request = request_for(specification, folders);
  request.incumbent = root;
  for (evaluator::WorkloadMeasurement const& workload : alone.workloads)
    request.incumbent_latency_us[workload.id] = workload.latency_us;
  return evaluator::evaluate(request);
}

} // namespace

Result<Verdict> try_candidate(Candidate const& candidate, Ground const& ground, fs::path const& builds) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  TIK_TRY(auto const folder, ScratchFolder::temporary("hostile"));
  TIK_TRY(Canary const canary, make_canary(folder.path()));
  Listener const listener;
  Folders const folders{folder.path() / "candidate", folder.path() / "scratch", builds};
  TIK_CHECK(write_candidate(candidate, ground, {canary.folder, listener.port()}, folders.source));
  fs::create_directory(folders.scratch);
  TIK_TRY(spec::Specification const specification, specification_of(candidate, ground));
  auto const begin = std::chrono::steady_clock::now();
  TIK_TRY(Report const report, candidate.harmless ? evaluate_beside_root(specification, folders, ground.root)
                                                  : evaluator::evaluate(request_for(specification, folders)));
  Verdict verdict;
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  verdict.honest = candidate.honest;
  verdict.verified = report.verified();
  Examination examination(candidate, report);
  if (candidate.harmless && verdict.verified) {
    examination.no_gain();
  } else {
    candidate.honest ? examination.success(specification) : examination.outcome();
  }
  examination.finds_other_kernels();
  examination.report_reads_back();
  examination.surroundings(canary, listener, folders.scratch);
  verdict.findings = examination.findings();
  if (verdict.verified && !candidate.honest && !candidate.harmless) verdict.findings.emplace_back("it was VERIFIED");
  Stage const* const failed = examination.failed_stage();
  verdict.outcome = failed != nullptr    ? fmt::format("{}: {}", failed->name, failed->message)
                    : candidate.harmless ? examination.best_ratio()
                                         : "passed";
  if (candidate.harmless) verdict.verified = false; // not a hostile candidate that came through
  return verdict;
}

Result<Verdict> build_candidate(Candidate const& candidate, Ground const& ground, fs::path const& builds) {
  TIK_TRY(auto const folder, ScratchFolder::temporary("hostile"));
  Folders const folders{folder.path() / "candidate", folder.path(), builds};
  TIK_CHECK(write_candidate(candidate, ground, {}, folders.source));
  TIK_TRY(spec::Specification const specification, specification_of(candidate, ground));
  TIK_TRY(Stage const built, evaluator::try_build(request_for(specification, folders)));
  Verdict verdict;
  verdict.outcome = built.message;
  verdict.honest = candidate.honest;
  verdict.seconds = built.seconds;
  if (built.outcome != Outcome::passed) verdict.findings.push_back("it is not built");
  return verdict;
}

evaluator::Json to_json(Verdict const& verdict) {
  return {{"outcome", verdict.outcome},
          {"honest", verdict.honest},
          {"verified", verdict.verified},
          {"findings", verdict.findings},
          {"seconds", verdict.seconds}};
}

Verdict verdict_from_json(evaluator::Json const& json) {
  return {json.at("outcome"), json.at("honest"), json.at("verified"), json.at("findings"), json.at("seconds")};
}

} // namespace tik::cheat
