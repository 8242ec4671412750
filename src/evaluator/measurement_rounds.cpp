#include "src/evaluator/measurement_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  Clock::time_point const begin = Clock::now();
  for (spec::Workload const& workload : context.specification.workloads)
    workloads_.push_back(prepare_workload(workload, context.specification.shape, context.gpu(), random_));
  seconds_["draw"] = seconds_since(begin);
  for (std::size_t w = 0; w < workloads_.size(); ++w) kept_rounds_.push_back(random_.between(0, settings_.rounds - 1));
  clocks_.resize(workloads_.size());
  repeats_.assign(workloads_.size(), 1);
}

Checked<void> Measuring::run(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
  Clock::time_point const begin = Clock::now();
  if (auto made = add_sides(candidate, incumbent); !made) return made;
  Clock::time_point const laid_out = Clock::now();
  seconds_["lay out"] = seconds_since(begin);
  if (auto warmed = warm_up(); !warmed) return warmed;
  seconds_["warm up"] = seconds_since(laid_out);
  Clock::time_point const warm = Clock::now();
  int const most = std::max(settings_.rounds, settings_.max_rounds);
  for (int round = 0; round < most; ++round) {
    if (auto measured = measure_round(); !measured) return measured;
    if (context_.watch != nullptr) gpu_states_.push_back(context_.watch->monitor.state());
    context_.report_progress(static_cast<double>(round + 1) / most);
    if (round + 1 >= settings_.rounds && decided()) break;
  }
  seconds_["rounds"] = seconds_since(warm);
  if (auto checked = check_clocks(); !checked) return checked;
  Clock::time_point const measured = Clock::now();
  Checked<int> const verified = verify_timed_calls(context_, candidate, workloads_);
  if (!verified) return tl::unexpected(verified.error());
  verified_ = *verified;
  seconds_["compute again"] = seconds_since(measured);
  return {};
}

Checked<void> Measuring::add_sides(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
  if (context_.gpu()) {
    if (auto made = add_device_sides(candidate, incumbent); !made) return made;
  } else {
    Checked<std::unique_ptr<Side>> made = host_side(candidate);
    if (!made) return tl::unexpected(std::move(made.error()));
    sides_.push_back(std::move(*made));
    if (incumbent != nullptr) {
      Checked<std::unique_ptr<Side>> other = host_side(*incumbent);
      if (!other) return incumbent_failed(other.error());
      sides_.push_back(std::move(*other));
    }
  }
  for (auto const& side : sides_) side->samples_us.resize(workloads_.size());
  return {};
}

Checked<std::unique_ptr<Side>> Measuring::host_side(BuiltImplementation const& implementation) {
  auto side = std::make_unique<Side>();
  Checked<Session> session = start_session(context_, implementation, WorkerUse::timing, processor_);
  if (!session) return tl::unexpected(std::move(session.error()));
  side->host = std::make_unique<HostTiming>(std::move(*session));
  for (TimedWorkload const& workload : workloads_) {
    Checked<Image> image = Image::place(side->host->arena, workload.dataset, workload.shape, random_);
    if (!image) return tl::unexpected(std::move(image.error()));
    side->host->images.push_back(std::move(*image));
  }
  return side;
}

Checked<void> Measuring::add_device_sides(BuiltImplementation const& candidate, BuiltImplementation const* incumbent) {
  Clock::time_point const begin = Clock::now();
  values_.emplace(random_);
  MemoryNeed const need = memory_need(context_.specification, WorkerUse::timing);
  Result<std::shared_ptr<SharedMemory>> const inputs = draw_inputs(need, *values_, random_);
  if (!inputs) return machine_failure(inputs.error());
  seconds_["draw"] = seconds_since(begin);
  std::vector<BuiltImplementation const*> const implementations =
      incumbent == nullptr ? std::vector{&candidate} : std::vector{&candidate, incumbent};
  std::vector<std::future<Checked<std::unique_ptr<DeviceTiming>>>> started;
  for (BuiltImplementation const* implementation : implementations) {
    started.push_back(std::async(std::launch::async,
                                 [&, implementation] { return DeviceTiming::start(context_, *implementation, *inputs); }));
  }
  for (std::size_t s = 0; s < started.size(); ++s) {
    Checked<std::unique_ptr<DeviceTiming>> timing = started[s].get();
    if (!timing && s > 0) return incumbent_failed(timing.error());
    if (!timing) return tl::unexpected(std::move(timing.error()));
    sides_.push_back(std::make_unique<Side>());
    sides_.back()->device = std::move(*timing);
  }
  seconds_["start workers"] = seconds_since(begin) - seconds_["draw"];
  for (std::size_t s = 0; s < sides_.size(); ++s) {
    DeviceTiming& timing = *sides_[s]->device;
    Checked<void> prepared = timing.lay_out(workloads_, s == 0 ? nullptr : sides_[0]->device.get(), random_);
    if (prepared) prepared = timing.capture(workloads_);
    if (!prepared && s > 0) return incumbent_failed(prepared.error());
    if (!prepared) return prepared;
  }
  return {};
}

void Measuring::renew_all(std::size_t workload) {
  if (!context_.gpu()) {
    std::vector<Image*> images;
    for (auto const& side : sides_) images.push_back(&side->host->images[workload]);
    return renew(workloads_[workload], images, random_);
  }
  Clock::time_point const begin = Clock::now();
  int launches = 0;
  for (auto const& side : sides_) launches = std::max(launches, side->device->launches(workload));
  for (int launch = 0; launch < launches; ++launch) {
    std::vector<Extent> const changed = renew_in_place(sides_[0]->device->image(workload, launch),
                                                       launch < workloads_[workload].launches.caches, *values_, random_);
    for (auto const& side : sides_) side->device->note(changed);
  }
  seconds_["renew"] += seconds_since(begin);
}

Failure Measuring::failed_call(std::size_t side, std::size_t workload, Failure failure) const {
  if (side != 0) return incumbent_failed(failure).value();
  if (!failure.error) failure.message = fmt::format("In a call of {}: {}", workloads_[workload].workload->id, failure.message);
  return failure;
}

Checked<Outputs> Measuring::call(std::size_t side, std::size_t workload) {
  renew_all(workload);
  Image& image = sides_[side]->host->images[workload];
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
  Clock::time_point const begin = Clock::now();
  int const prelude = workloads_[w].launches.prelude;
  int const launch = prelude + random_.between(0, device.timed_launches(w) - 1);
  Checked<Outputs> outputs = device.outputs(w, launch);
  if (!outputs) return tl::unexpected(failed_call(side, w, outputs.error()));
  TimedCall kept_call{workloads_[w].shape, device.image(w, launch).read_inputs(), std::move(*outputs)};
  workloads_[w].kept.push_back(std::move(kept_call));
  seconds_["keep"] += seconds_since(begin);
  return {};
}

double Measuring::reported_us(Outputs const& outputs) const {
  return processor_time_ ? outputs.reported_cpu_us : outputs.reported_wall_us;
}

} // namespace tik::evaluator
