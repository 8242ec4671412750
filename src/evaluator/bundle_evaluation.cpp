#include "src/evaluator/bundle_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/evaluator/evaluator.h"
#include "src/evaluator/processors.h"
#include "src/evaluator/scratch.h"

namespace tik::evaluator {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t processors_a_build = 4;

fs::path candidate_folder(fs::path const& sources, BundledSource const& candidate) {
  return sources / ("candidate-" + candidate.id);
}
fs::path incumbent_folder(fs::path const& sources) { return sources / "incumbent"; }

// The report that an earlier evaluation left, when it is one on this candidate.
std::optional<Report> kept_report(BundleEvaluation const& evaluation, BundledSource const& candidate) {
  fs::path const file = report_file(evaluation.out, candidate.id);
  Result<std::string> const text = read_file(file);
  if (!text) return std::nullopt;
  Result<Json> const json = parse_json(*text, file.string());
  if (!json) return std::nullopt;
  Result<Report> report = report_from_json(*json);
  if (!report) return std::nullopt;
  HostReport entry{candidate.id, std::move(*report)};
  if (!answers(entry, expected_of(evaluation.bundle, candidate), evaluation.bundle.specification)) return std::nullopt;
  return std::move(entry.report);
}

// Hands candidates out and takes their reports in, from any thread.
class Candidates {
 public:
  explicit Candidates(BundleEvaluation const& evaluation)
      : evaluation_(evaluation), reports_(evaluation.bundle.candidates.size()) {}

  // From now on as many more are handed out; whether there are any.
  bool allow(std::size_t count) {
    std::lock_guard const lock(mutex_);
    allowed_ = std::min(next_ + count, reports_.size());
    return !error_ && next_ < allowed_;
  }
  // Those that are allowed and not handed out yet.
  std::span<BundledSource const> waiting() {
    std::lock_guard const lock(mutex_);
    return std::span(evaluation_.bundle.candidates).subspan(next_, allowed_ - next_);
  }
  // The next candidate; null when all that are allowed were handed out, or one could not be evaluated.
  BundledSource const* next() {
    std::lock_guard const lock(mutex_);
    if (error_ || next_ == allowed_) return nullptr;
    return &evaluation_.bundle.candidates[next_++];
  }

  void progress(BundledSource const& candidate, std::string_view stage, double fraction) {
    std::lock_guard const lock(mutex_);
    if (evaluation_.progress) evaluation_.progress(candidate, stage, fraction);
  }

  Result<void> finished(BundledSource const& candidate, Report report, bool kept) {
    std::lock_guard const lock(mutex_);
    HostReport const entry{candidate.id, std::move(report)};
    if (!kept) TIK_CHECK(write_report(evaluation_.out, entry));
    reports_[static_cast<std::size_t>(&candidate - evaluation_.bundle.candidates.data())] = entry;
    TIK_CHECK(write_index(evaluation_.out, evaluation_.bundle, present()));
    if (evaluation_.done) evaluation_.done(entry, kept);
    return {};
  }

  void failed(Error error) {
    std::lock_guard const lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  // When nobody works on a candidate any more.
  Result<std::vector<HostReport>> result() const {
    if (error_) return tl::unexpected(*error_);
    return present();
  }

 private:
  std::vector<HostReport> present() const {
    std::vector<HostReport> entries;
    for (std::optional<HostReport> const& entry : reports_)
      if (entry) entries.push_back(*entry);
    return entries;
  }

  BundleEvaluation const& evaluation_;
  std::mutex mutex_;
  std::size_t next_ = 0, allowed_ = 0;
  std::vector<std::optional<HostReport>> reports_; // in the order of the candidates
  std::optional<Error> error_;
};

// What one source needs to be evaluated or built.
Request request_for(BundleEvaluation const& evaluation, fs::path const& source) {
  return {.specification = evaluation.bundle.specification,
          .seal = evaluation.bundle.seal,
          .source = source,
          .incumbent = std::nullopt,
          .incumbent_latency_us = evaluation.bundle.incumbent_latency_us,
          .scratch = evaluation.scratch,
          .build_cache = evaluation.build_cache,
          .progress = {},
          .cancel = evaluation.cancel};
}

// Where candidates are evaluated: a GPU, or the CPU, with what protects the machine there.
struct Gpu {
  int number = 0;
  Protections protections;
};

// Evaluates candidates on one of these until none is left.
class Evaluator {
 public:
  Evaluator(BundleEvaluation const& evaluation, Candidates& candidates, fs::path const& sources, Gpu const& gpu)
      : evaluation_(evaluation), candidates_(candidates), sources_(sources), gpu_(gpu) {}

  Result<void> run() {
    while (BundledSource const* candidate = candidates_.next()) {
      std::optional<Report> kept = kept_report(evaluation_, *candidate);
      bool const was_there = kept.has_value();
      if (!was_there) {
        TIK_TRY(kept, evaluate_candidate(*candidate));
      }
      TIK_CHECK(candidates_.finished(*candidate, std::move(*kept), was_there));
    }
    return {};
  }

 private:
  Result<Report> evaluate_candidate(BundledSource const& candidate) {
    Bundle const& bundle = evaluation_.bundle;
    Request request = request_for(evaluation_, candidate_folder(sources_, candidate));
    request.progress = [&](std::string_view stage, double fraction) { candidates_.progress(candidate, stage, fraction); };
    request.protections = &gpu_.protections;
    request.gpu_number = gpu_.number;
    if (bundle.incumbent) request.incumbent = incumbent_folder(sources_);
    TIK_TRY(Report report, evaluate(request));
    TIK_CHECK(answers({candidate.id, report}, expected_of(bundle, candidate), bundle.specification));
    return report;
  }

  BundleEvaluation const& evaluation_;
  Candidates& candidates_;
  fs::path const& sources_;
  Gpu const& gpu_;
};

// So many are built at the same time before a GPU is used, and evaluated before the next are built.
std::size_t built_at_once() { return std::max<std::size_t>(1, std::thread::hardware_concurrency() / processors_a_build); }

// Builds what will be evaluated next on a GPU side by side: the builds are kept, and no build runs beside a measurement. What
// cannot be built is found out when its turn comes.
void build_ahead(BundleEvaluation const& evaluation, fs::path const& sources, Candidates& candidates, Gpu const& gpu) {
  std::vector<fs::path> wanted;
  for (BundledSource const& candidate : candidates.waiting())
    if (!kept_report(evaluation, candidate)) wanted.push_back(candidate_folder(sources, candidate));
  if (wanted.empty()) return;
  if (evaluation.bundle.incumbent) wanted.push_back(incumbent_folder(sources)); // found in the cache but for the first time
  candidates.progress(candidates.waiting().front(), "build", 0);
  std::vector<std::thread> builders;
  for (fs::path const& source : wanted) {
    builders.emplace_back([&] {
      Request request = request_for(evaluation, source);
      request.protections = &gpu.protections;
      request.gpu_number = gpu.number;
      (void)try_build(request);
    });
  }
  for (std::thread& builder : builders) builder.join();
}

// Evaluates what is allowed, each GPU in a thread of its own, which keeps its processors to itself.
void evaluate_allowed(BundleEvaluation const& evaluation, fs::path const& sources, Candidates& candidates,
                      std::vector<Gpu> const& gpus) {
  std::vector<std::thread> threads;
  auto const work = [&](std::size_t index) {
    Result<void> done = gpus.size() > 1 ? take_processors(index, gpus.size()) : Result<void>{};
    if (done) done = Evaluator(evaluation, candidates, sources, gpus[index]).run();
    if (!done) candidates.failed(done.error());
  };
  for (std::size_t i = 0; i < gpus.size(); ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

} // namespace

Result<std::vector<HostReport>> evaluate_bundle(BundleEvaluation const& evaluation) {
  Bundle const& bundle = evaluation.bundle;
  if (!evaluation.gpus.empty() && bundle.specification.target == "cpu")
    return input_error("The specification's target is cpu: devices are GPUs, so name none.");
  if (std::set<int>(evaluation.gpus.begin(), evaluation.gpus.end()).size() != evaluation.gpus.size())
    return input_error("A device is named twice: two measurements on one GPU would disturb each other.");
  std::error_code error;
  fs::create_directories(evaluation.out, error);
  if (error)
    return machine_error(
        fmt::format("{}: cannot be created: {}; name a folder that may be written.", evaluation.out.string(), error.message()));
  TIK_TRY(ScratchFolder const sources, ScratchFolder::make(evaluation.scratch, "bundle"));
  for (BundledSource const& candidate : bundle.candidates)
    TIK_CHECK(write_source_folder(candidate_folder(sources.path(), candidate), candidate.files));
  if (bundle.incumbent) TIK_CHECK(write_source_folder(incumbent_folder(sources.path()), bundle.incumbent->files));
  Candidates candidates(evaluation);
  std::vector<Gpu> gpus;
  for (int const number : evaluation.gpus.empty() ? std::vector<int>{0} : evaluation.gpus) {
    TIK_TRY(Protections protections, protections_for(bundle.specification, sources.path(), number));
    gpus.push_back({number, std::move(protections)});
  }
  bool const gpu = bundle.specification.target != "cpu";
  while (candidates.allow(gpu ? built_at_once() : 1)) {
    if (gpu) build_ahead(evaluation, sources.path(), candidates, gpus[0]);
    evaluate_allowed(evaluation, sources.path(), candidates, gpus);
  }
  return candidates.result();
}

} // namespace tik::evaluator
