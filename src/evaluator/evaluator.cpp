#include "src/evaluator/evaluator.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>

#include "src/base/files.h"
#include "src/base/source_folder.h"
#include "src/evaluator/device_dispatch.h"
#include "src/evaluator/evidence.h"
#include "src/evaluator/machine.h"
#include "src/evaluator/measurement.h"
#include "src/evaluator/scratch.h"
#include "src/evaluator/stages.h"
#include "src/evaluator/text.h"
#include "src/evaluator/version.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool on_gpu(spec::Specification const& specification) { return specification.target != "cpu"; }

Result<void> check_gpu_is_there() {
  std::error_code ignored;
  if (fs::exists("/dev/nvidiactl", ignored)) return {};
  return input_error(
      "The specification's target is sm_90a, and this machine has no NVIDIA GPU (/dev/nvidiactl is not there): evaluate on a "
      "machine "
      "with a Hopper GPU; `tik` can be copied there.");
}

Result<void> check_profile(Request const& request) {
  if (!request.profile.empty() && !on_gpu(request.specification)) {
    return input_error("A profile is of kernels on a GPU, and the specification's target is \"cpu\": leave it out.");
  }
  for (std::string const& id : request.profile) {
    auto const& workloads = request.specification.workloads;
    if (std::none_of(workloads.begin(), workloads.end(), [&](spec::Workload const& workload) { return workload.id == id; })) {
      return input_error(fmt::format("The workload {} that is to be profiled is none of the specification.", id));
    }
  }
  return {};
}

Result<void> check_request(Request const& request) {
  if (request.specification.operator_name != "attention") {
    return input_error(
        fmt::format("The evaluator knows the operator \"attention\", not \"{}\".", request.specification.operator_name));
  }
  if (on_gpu(request.specification)) TIK_CHECK(check_gpu_is_there());
  TIK_CHECK(check_profile(request));
  if (!request.incumbent) return {};
  for (spec::Workload const& workload : request.specification.workloads) {
    auto const known = request.incumbent_latency_us.find(workload.id);
    if (known == request.incumbent_latency_us.end() || !(known->second > 0)) {
      return input_error(
          fmt::format("The incumbent has no recorded latency for the workload {}: measure it first.", workload.id));
    }
  }
  return {};
}

// A private copy of a source tree, there for as long as it is built.
struct Source {
  ScratchFolder folder;
  std::string sha256;
};
Result<Source> take_source(fs::path const& from, fs::path const& scratch) {
  TIK_TRY(ScratchFolder folder, ScratchFolder::make(scratch, "source"));
  TIK_TRY(std::vector<SourceFile> const files, read_source_folder(from));
  TIK_CHECK(write_source_folder(folder.path(), files));
  return Source{std::move(folder), hash_source_files(files)};
}

// The specification's seed and a value that no candidate can foresee.
std::uint64_t draw_seed(spec::Specification const& specification) {
  std::uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn)) {
    drawn = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  }
  return specification.checks.seed ^ drawn;
}

// One evaluation: runs the stages in order and writes the report as it goes.
class Evaluation {
 public:
  Evaluation(Request const& request, fs::path scratch, Protections const& protections, GpuWatch* watch)
      : request_(request),
        scratch_(std::move(scratch)),
        protections_(protections),
        watch_(watch),
        begin_(Clock::now()),
        seed_(draw_seed(request.specification)) {
    report_.specification_sha256 = request.seal;
    report_.evaluator_version = std::string(evaluator_version);
    report_.started_at = utc_now();
    report_.protections = protections.on;
  }

  Result<Report> run() {
    TIK_CHECK(stage("build", [&] { return build_candidate(); }));
    TIK_CHECK(checks());
    TIK_CHECK(stage("measurement", [&] { return measure(); }));
    TIK_CHECK(stage("evidence", [&] { return collect(); }));
    report_.machine = describe_machine(candidate_ ? candidate_->built.folder / candidate_->built.library_name : fs::path());
    if (watch_ != nullptr) report_.machine["gpu"] = watch_->monitor.identity();
    report_.machine["missing_protections"] = protections_.missing;
    report_.seconds = seconds_since(begin_);
    return std::move(report_);
  }

  // The first report is that of run(); in the others only the measurement is new, with new inputs in new processes.
  Result<std::vector<Report>> run_beside_itself(int times, std::function<void(Report const&)> const& done) {
    TIK_TRY(Report const alone, run());
    std::vector<Report> reports = {alone};
    if (done) done(alone);
    if (!alone.verified() || !alone.measured(request_.specification)) return reports;
    for (WorkloadMeasurement const& workload : alone.workloads) recorded_us_[workload.id] = workload.latency_us;
    for (int i = 0; i < times; ++i) {
      begin_ = Clock::now();
      seed_ = draw_seed(request_.specification);
      report_ = alone;
      report_.started_at = utc_now();
      report_.incumbent_sha256 = alone.source_sha256;
      std::vector<Stage> stages = std::move(report_.stages);
      report_.stages.clear();
      for (Stage& stage : stages) {
        if (stage.name != "measurement") {
          report_.stages.push_back(std::move(stage));
        } else {
          TIK_CHECK(this->stage("measurement", [&] { return measure_beside(&*candidate_); }));
        }
      }
      report_.seconds = seconds_since(begin_);
      if (done) done(report_);
      reports.push_back(report_);
      if (!report_.verified()) return reports;
    }
    return reports;
  }

  Result<Stage> only_build() {
    TIK_CHECK(stage("build", [&] { return build_candidate(); }));
    Stage built = std::move(report_.stages.front());
    if (candidate_ && candidate_->built.remarks.available) built.details["remarks"] = candidate_->built.remarks.data;
    return built;
  }

 private:
  // What a stage came to.
  struct Ended {
    Checked<StageText> result;
    double seconds;
  };
  template <class Run>
  static Ended timed(Run run) {
    Clock::time_point const begin = Clock::now();
    Checked<StageText> result = run();
    return {std::move(result), seconds_since(begin)};
  }

  // Runs a stage, unless one before it failed.
  template <class Run>
  Result<void> stage(std::string const& name, Run run) {
    return stage_from(name, [&] { return timed(run); });
  }
  template <class End>
  Result<void> stage_from(std::string const& name, End end) {
    Stage stage;
    stage.name = name;
    if (!failed_.empty()) {
      stage.message = fmt::format("Skipped because {} failed.", failed_);
      report_.stages.push_back(std::move(stage));
      return {};
    }
    if (request_.cancel != nullptr && request_.cancel->load()) {
      return tl::unexpected(Error{ErrorKind::cancelled, "The evaluation was cancelled."});
    }
    report_progress(name, 0);
    Ended ended = end();
    Checked<StageText>& result = ended.result;
    if (!result && result.error().error) return tl::unexpected(*result.error().error);
    stage.seconds = ended.seconds;
    stage.outcome = result ? Outcome::passed : Outcome::failed;
    stage.message = result ? std::move(result->message) : valid_utf8(result.error().message);
    stage.details = result ? std::move(result->details) : std::move(result.error().details);
    if (!result) failed_ = name;
    report_.stages.push_back(std::move(stage));
    report_progress(name, 1);
    return {};
  }

  // On a GPU side by side, with the disassembly for the evidence: their time goes to starting workers and to
  // what the parent does. On the CPU, whose processors the candidate needs, one after another.
  Result<void> checks() {
    using Check = Checked<StageText> (*)(StageContext const&, BuiltImplementation const&);
    constexpr std::pair<char const*, Check> all[] = {
        {"consistency", check_consistency}, {"accuracy", check_accuracy}, {"robustness", check_robustness}};
    // What is put off never begins when the build failed: every check is skipped then.
    std::launch const way = candidate_ && on_gpu(request_.specification) ? std::launch::async : std::launch::deferred;
    std::vector<std::future<Ended>> ended;
    for (auto const& [name, check] : all) {
      ended.push_back(std::async(
          way, [this, name = name, check = check] { return timed([&] { return check(context(name), *candidate_); }); }));
    }
    instructions_ = std::async(way, [this] { return instruction_evidence(context("evidence"), *candidate_); });
    for (std::size_t i = 0; i < std::size(all); ++i) TIK_CHECK(stage_from(all[i].first, [&] { return ended[i].get(); }));
    return {};
  }

  void report_progress(std::string_view name, double fraction) {
    std::lock_guard const lock(progress_mutex_);
    if (request_.progress) request_.progress(name, fraction);
  }

  StageContext context(std::string const& name) {
    StageContext context{request_.specification,
                         scratch_,
                         protections_.layers,
                         on_gpu(request_.specification) ? protections_.gpu_layers : protections_.layers,
                         seed_,
                         request_.gpu_number,
                         watch_,
                         request_.cancel,
                         {}};
    context.progress = [this, name](double fraction) { report_progress(name, fraction); };
    return context;
  }

  Checked<BuiltImplementation> build_source(Source const& source) {
    Result<spec::Manifest> manifest = spec::load_manifest(source.folder.path());
    if (!manifest) return candidate_failure(manifest.error().message);
    if (manifest->operator_name != request_.specification.operator_name || manifest->target != request_.specification.target) {
      return candidate_failure(fmt::format(
          "The manifest is for the operator \"{}\" on \"{}\", the specification for \"{}\" on \"{}\".", manifest->operator_name,
          manifest->target, request_.specification.operator_name, request_.specification.target));
    }
    Checked<Built> built = build({source.folder.path(), source.sha256, scratch_, request_.build_cache, protections_.layers,
                                  request_.specification.build_limits, request_.cancel},
                                 *manifest);
    if (!built) return tl::unexpected(std::move(built.error()));
    return BuiltImplementation{std::move(*manifest), std::move(*built)};
  }

  Checked<StageText> build_candidate() {
    Result<Source> const source = take_source(request_.source, scratch_);
    if (!source) {
      if (source.error().kind == ErrorKind::input) return candidate_failure(source.error().message);
      return machine_failure(source.error());
    }
    report_.source_sha256 = source->sha256;
    Checked<BuiltImplementation> built = build_source(*source);
    if (!built) return tl::unexpected(std::move(built.error()));
    candidate_ = std::move(*built);
    Json const& details = candidate_->built.details;
    return StageText{fmt::format("Built in {:.2f} s{}.", details.value("seconds", 0.0),
                                 details.value("cached", false) ? ", earlier: taken from the cache" : ""),
                     details};
  }

  Checked<StageText> measure() {
    if (on_gpu(request_.specification)) instructions_.wait(); // nothing else runs while calls are timed
    std::optional<BuiltImplementation> incumbent;
    if (request_.incumbent) {
      Result<Source> const source = take_source(*request_.incumbent, scratch_);
      if (!source) return machine_failure(source.error());
      report_.incumbent_sha256 = source->sha256;
      Checked<BuiltImplementation> built = build_source(*source);
      if (!built) return incumbent_failure(built.error());
      incumbent = std::move(*built);
    }
    recorded_us_ = request_.incumbent_latency_us;
    return measure_beside(incumbent ? &*incumbent : nullptr);
  }

  Checked<StageText> measure_beside(BuiltImplementation const* incumbent) {
    Checked<Measured> measured = measure_workloads(context("measurement"), *candidate_, incumbent, recorded_us_);
    if (!measured) return tl::unexpected(std::move(measured.error()));
    report_.workloads = std::move(measured->workloads);
    counters_ = std::move(measured->counters);
    dispatch_ = std::move(measured->dispatch);
    return std::move(measured->text);
  }

  // The incumbent was verified before: when it fails now, this machine is at fault, not the candidate.
  static tl::unexpected<Failure> incumbent_failure(Failure const& failure) {
    if (failure.error) return tl::unexpected(failure);
    return machine_failure(
        {ErrorKind::machine, "The incumbent, which was verified before, cannot be used now: " + failure.message});
  }

  Checked<StageText> collect() {
    if (on_gpu(request_.specification))
      dispatch_ = recorded_dispatch(record_kernels(context("evidence"), *candidate_), dispatch_);
    report_.evidence =
        collect_evidence(context("evidence"), *candidate_, dispatch_, counters_, instructions_.get(), request_.profile);
    int available = 0;
    for (Evidence const& evidence : report_.evidence) available += evidence.available ? 1 : 0;
    StageText text{fmt::format("{} of {} kinds of evidence.", available, report_.evidence.size())};
    // Work that the timed graphs lack is worth a word to whoever reads no further.
    Json const found = report_.evidence.front().data.value("differences", Json::array());
    if (!found.empty()) {
      text.message += fmt::format(" Kernels differ from those that were timed: {}", found[0].get<std::string>());
      if (found.size() > 1) text.message += fmt::format(" And {} more in the evidence.", found.size() - 1);
    }
    return text;
  }

  Request const& request_;
  fs::path scratch_;
  Protections const& protections_;
  GpuWatch* watch_;
  Clock::time_point begin_;
  Report report_;
  std::string failed_;
  std::uint64_t seed_;
  std::optional<BuiltImplementation> candidate_;
  std::map<std::string, double> recorded_us_; // of the incumbent, by workload
  Evidence counters_, dispatch_;
  std::mutex progress_mutex_;
  std::future<Evidence> instructions_; // last: its end is waited for while what it reads still lives
};

// Has an evaluation in a scratch folder of its own do its part.
template <class Part>
auto in_scratch(Request const& request, Part part) -> std::invoke_result_t<Part, Evaluation&> {
  TIK_CHECK(check_request(request));
  TIK_TRY(ScratchFolder const scratch, ScratchFolder::make(request.scratch, "evaluation"));
  std::optional<GpuWatch> gpu;
  if (on_gpu(request.specification)) {
    if (Result<GpuMonitor> opened = GpuMonitor::open(request.gpu_number)) gpu.emplace(std::move(*opened));
  }
  std::optional<Protections> probed;
  if (request.protections == nullptr) {
    TIK_TRY(probed, protections_for(request.specification, scratch.path(), request.gpu_number));
  }
  Evaluation evaluation(request, scratch.path(), probed ? *probed : *request.protections, gpu ? &*gpu : nullptr);
  return part(evaluation);
}

} // namespace

Result<Report> evaluate(Request const& request) {
  return in_scratch(request, [](Evaluation& evaluation) { return evaluation.run(); });
}

Result<std::vector<Report>> evaluate_beside_itself(Request const& request, int times,
                                                   std::function<void(Report const&)> const& done) {
  return in_scratch(request, [&](Evaluation& evaluation) { return evaluation.run_beside_itself(times, done); });
}

Result<Stage> try_build(Request const& request) {
  return in_scratch(request, [](Evaluation& evaluation) { return evaluation.only_build(); });
}

Result<Protections> protections_for(spec::Specification const& specification, fs::path const& scratch, int gpu_number) {
  TIK_TRY(Protections protections, probe_protections(scratch));
  if (!on_gpu(specification)) return protections;
  TIK_CHECK(check_gpu_is_there());
  TIK_CHECK(probe_gpu(scratch, protections, gpu_number));
  if (Result<GpuMonitor> const opened = GpuMonitor::open(gpu_number); !opened) {
    protections.missing.push_back("device-memory is not watched: " + opened.error().message);
  }
  return protections;
}

} // namespace tik::evaluator
