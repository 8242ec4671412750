#include "src/evaluator/measurement_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>

#include "src/evaluator/statistics.h"

namespace tik::evaluator {
namespace {

constexpr int most_repeats = 64;

tl::unexpected<Failure> incumbent_failed(Failure const& failure) {
  if (failure.error) return tl::unexpected(failure);
  return machine_failure(
      {ErrorKind::machine, "The incumbent, which was verified before, failed under measurement: " + failure.message});
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

} // namespace

Measuring::Measuring(StageContext const& context, std::map<std::string, double> const& recorded_us)
    : context_(context),
      settings_(context.specification.measurement),
      recorded_us_(recorded_us),
      random_(context.seed ^ 0x6d656173757265),
      processor_(settings_.pin_cpu ? measuring_processor() : std::nullopt),
      processor_time_(context.layers.system_call_filter) {
  draw_workloads();
  for (std::size_t w = 0; w < workloads_.size(); ++w) kept_rounds_.push_back(random_.between(0, settings_.rounds - 1));
  clocks_.resize(workloads_.size());
  repeats_.assign(workloads_.size(), 1);
}

Checked<void> Measuring::run(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
  Clock::time_point const begin = Clock::now();
  if (auto made = add_sides(candidate, incumbent); !made) return made;
  seconds_["lay out"] = seconds_since(begin);
  Clock::time_point const laid_out = Clock::now();
  if (auto warmed = warm_up(); !warmed) return warmed;
  int const most = std::max(settings_.rounds, settings_.max_rounds);
  for (int round = 0; round < most; ++round) {
    if (auto measured = measure_round(); !measured) return measured;
    if (context_.watch != nullptr) gpu_states_.push_back(context_.watch->monitor.state());
    context_.report_progress(static_cast<double>(round + 1) / most);
    if (round + 1 >= settings_.rounds && decided()) break;
  }
  seconds_["rounds"] = seconds_since(laid_out);
  if (auto checked = check_clocks(); !checked) return checked;
  Clock::time_point const measured = Clock::now();
  Checked<int> const verified = verify_timed_calls(context_, candidate, workloads_);
  if (!verified) return tl::unexpected(verified.error());
  verified_ = *verified;
  seconds_["compute again"] = seconds_since(measured);
  return {};
}

Checked<void> Measuring::add_sides(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
  using Made = Checked<std::unique_ptr<Side>>;
  std::launch const way = context_.gpu() ? std::launch::async : std::launch::deferred;
  auto const make = [this](BuiltImplementation const& implementation, std::uint64_t seed) {
    Random random(seed);
    return make_side(implementation, random);
  };
  std::future<Made> first = std::async(way, make, std::cref(candidate), random_.next()), second;
  if (incumbent != nullptr) second = std::async(way, make, std::cref(*incumbent), random_.next());
  Made made = first.get();
  if (!made) return tl::unexpected(std::move(made.error()));
  sides_.push_back(std::move(*made));
  if (incumbent == nullptr) return {};
  Made other = second.get();
  if (!other) return incumbent_failed(other.error());
  sides_.push_back(std::move(*other));
  return {};
}

Checked<std::unique_ptr<Side>> Measuring::make_side(BuiltImplementation const& implementation, Random& random) const {
  auto side = std::make_unique<Side>();
  side->samples_us.resize(workloads_.size());
  if (context_.gpu()) {
    auto device = DeviceTiming::start(context_, implementation, workloads_, random);
    if (!device) return tl::unexpected(std::move(device.error()));
    side->device = std::move(*device);
    return side;
  }
  Checked<Session> session = start_session(context_, implementation, WorkerUse::timing, processor_);
  if (!session) return tl::unexpected(std::move(session.error()));
  side->host = std::make_unique<HostTiming>(std::move(*session));
  for (TimedWorkload const& workload : workloads_) {
    Checked<Image> image = Image::place(side->host->arena, workload.dataset, workload.shapes[0], random);
    if (!image) return tl::unexpected(std::move(image.error()));
    side->host->images.push_back(std::move(*image));
  }
  return side;
}

void Measuring::draw_workloads() {
  Clock::time_point const begin = Clock::now();
  std::vector<std::future<TimedWorkload>> drawn;
  for (spec::Workload const& workload : context_.specification.workloads) {
    drawn.push_back(
        std::async(context_.gpu() ? std::launch::async : std::launch::deferred, [this, &workload, seed = random_.next()] {
          Random random(seed);
          return prepare_workload(workload, context_.specification.shape, context_.gpu(), random);
        }));
  }
  for (std::future<TimedWorkload>& each : drawn) workloads_.push_back(each.get());
  seconds_["draw"] = seconds_since(begin);
}

void Measuring::renew_all(std::size_t workload) {
  int launches = workloads_[workload].launches.count;
  if (context_.gpu()) {
    launches = 0;
    for (auto const& each : sides_) launches = std::max(launches, each->device->launches(workload));
  }
  for (int launch = 0; launch < launches; ++launch) {
    std::vector<Image*> images;
    for (auto const& each : sides_) images.push_back(&each->image(workload, launch));
    Renewed const renewed = renew(workloads_[workload], launch, images, random_);
    for (auto const& each : sides_) {
      if (each->device) each->device->note(workload, launch, renewed);
    }
  }
}

Failure Measuring::failed_call(std::size_t side, std::size_t workload, Failure failure) const {
  if (side != 0) return incumbent_failed(failure).value();
  if (!failure.error) failure.message = fmt::format("In a call of {}: {}", workloads_[workload].workload->id, failure.message);
  return failure;
}

Checked<Outputs> Measuring::call(std::size_t side, std::size_t workload) {
  renew_all(workload);
  Image& image = sides_[side]->image(workload, 0);
  if (workloads_[workload].workload->cache == spec::CacheState::cold) image.evict();
  Checked<Outputs> outputs = image.run();
  if (!outputs) return tl::unexpected(failed_call(side, workload, outputs.error()));
  return outputs;
}

Checked<DeviceTiming::Replay> Measuring::replay(std::size_t side, std::size_t workload) {
  renew_all(workload);
  Checked<DeviceTiming::Replay> replayed = sides_[side]->device->replay(workload);
  if (!replayed) return tl::unexpected(failed_call(side, workload, replayed.error()));
  return replayed;
}

Checked<double> Measuring::warm_up_call(std::size_t side, std::size_t w) {
  if (sides_[side]->device) {
    Checked<DeviceTiming::Replay> const replayed = replay(side, w);
    if (!replayed) return tl::unexpected(replayed.error());
    return replayed->device_us;
  }
  Checked<Outputs> const outputs = call(side, w);
  if (!outputs) return tl::unexpected(outputs.error());
  return reported_us(*outputs);
}

Checked<void> Measuring::warm_up() {
  for (std::size_t w = 0; w < workloads_.size(); ++w) {
    double longest = 0;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      for (int i = 0; i < std::max(1, settings_.warmup); ++i) {
        Checked<double> const time = warm_up_call(side, w);
        if (!time) return tl::unexpected(time.error());
        if (i + 1 == std::max(1, settings_.warmup)) longest = std::max(longest, *time);
      }
    }
    double const wanted = std::ceil(settings_.min_round_us / std::max(longest, 1.0));
    repeats_[w] = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most_repeats)));
  }
  return {};
}

Checked<void> Measuring::measure_round() {
  std::vector<std::size_t> order(workloads_.size()), sides(sides_.size());
  for (std::size_t w = 0; w < order.size(); ++w) order[w] = w;
  for (std::size_t s = 0; s < sides.size(); ++s) sides[s] = s;
  random_.shuffle(order);
  for (std::size_t const w : order) {
    random_.shuffle(sides);
    for (std::size_t const side : sides) {
      if (auto sampled = context_.gpu() ? sample_graph(side, w) : sample(side, w); !sampled) return sampled;
    }
  }
  return {};
}

Checked<void> Measuring::sample(std::size_t side, std::size_t w) {
  bool const warm = workloads_[w].workload->cache == spec::CacheState::warm;
  std::vector<double> times;
  for (int i = warm ? -1 : 0; i < repeats_[w]; ++i) {
    Checked<Outputs> outputs = call(side, w);
    if (!outputs) return tl::unexpected(std::move(outputs.error()));
    if (i < 0) continue;
    double const time = reported_us(*outputs);
    times.push_back(time);
    if (side != 0) continue;
    clocks_[w].reported_us.push_back(time);
    clocks_[w].excess_us.push_back((processor_time_ ? outputs->cpu_us : outputs->outside_us) - time);
    keep(workloads_[w], std::move(*outputs), random_);
  }
  sides_[side]->samples_us[w].push_back(std::max(median(std::move(times)), 1e-3));
  return {};
}

Checked<void> Measuring::sample_graph(std::size_t side, std::size_t w) {
  DeviceTiming& device = *sides_[side]->device;
  std::vector<double> times;
  for (int i = 0; i < repeats_[w]; ++i) {
    Checked<DeviceTiming::Replay> const replayed = replay(side, w);
    if (!replayed) return tl::unexpected(replayed.error());
    times.push_back(replayed->device_us / device.timed_launches(w));
    if (side != 0) continue;
    clocks_[w].reported_us.push_back(replayed->device_us);
    clocks_[w].excess_us.push_back(replayed->excess_us);
  }
  bool const kept = side == 0 && static_cast<int>(sides_[0]->samples_us[w].size()) == kept_rounds_[w];
  sides_[side]->samples_us[w].push_back(std::max(median(std::move(times)), 1e-3));
  if (!kept) return {};
  int const prelude = workloads_[w].launches.prelude;
  int const launch = prelude + random_.between(0, device.timed_launches(w) - 1);
  Checked<Outputs> outputs = device.outputs(w, launch);
  if (!outputs) return tl::unexpected(failed_call(side, w, outputs.error()));
  keep_launch(workloads_[w], launch, std::move(*outputs));
  return {};
}

double Measuring::reported_us(Outputs const& outputs) const {
  return processor_time_ ? outputs.reported_cpu_us : outputs.reported_wall_us;
}

} // namespace tik::evaluator
