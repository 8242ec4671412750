#include "src/evaluator/device_timing.h"

#include <algorithm>
#include <cstring>

namespace tik::evaluator {
namespace {

constexpr double long_enough_us = 5000; // of a timed graph
constexpr std::size_t table_entries = std::size_t{1} << 16;

Checked<void> without_result(Checked<CallResult> const& result) {
  if (!result) return tl::unexpected(result.error());
  return {};
}

} // namespace

Checked<std::unique_ptr<DeviceTiming>> DeviceTiming::start(StageContext const& context,
                                                           BuiltImplementation const& implementation,
                                                           std::vector<TimedWorkload> const& workloads, Random& random) {
  Checked<Session> session = start_session(context, implementation, WorkerUse::timing);
  if (!session) return tl::unexpected(std::move(session.error()));
  std::unique_ptr<DeviceTiming> timing(new DeviceTiming(std::move(*session)));
  auto const table = timing->arena_.place(Region::input, table_entries * sizeof(Extent), alignof(Extent), random);
  if (!table) return machine_failure({ErrorKind::machine, "The shared memory of a measurement is too small."});
  timing->table_ = *table;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    if (auto laid_out = timing->lay_out(workloads[w], random); !laid_out) return tl::unexpected(laid_out.error());
    if (auto captured = timing->capture(workloads[w], w); !captured) return tl::unexpected(captured.error());
  }
  return timing;
}

Checked<void> DeviceTiming::lay_out(TimedWorkload const& workload, Random& random) {
  images_.emplace_back();
  std::vector<Image>& images = images_.back();
  images.reserve(workload.shapes.size());
  for (std::size_t launch = 0; launch < workload.shapes.size(); ++launch) {
    std::size_t const caches = static_cast<std::size_t>(workload.launches.caches);
    Image const* const cache_of = launch < caches ? nullptr : &images[launch % caches];
    Checked<Image> image = Image::place(arena_, workload.dataset, workload.shapes[launch], random, cache_of);
    if (!image) return tl::unexpected(std::move(image.error()));
    images.push_back(std::move(*image));
  }
  changed_.emplace_back();
  return {};
}

// Every call is made once by itself before: that brings its inputs and its zeroed workspace to the device, and whatever a first
// call prepares is done outside the capture. Slow calls need fewer launches to be long against the clock's steps.
Checked<void> DeviceTiming::capture(TimedWorkload const& workload, std::size_t index) {
  std::string const doing = "the capture of " + workload.workload->id;
  std::size_t launches = images_[index].size();
  for (std::size_t launch = 0; launch < launches; ++launch) {
    Image& image = images_[index][launch];
    image.use_graph(false);
    Checked<Outputs> const outputs = image.run();
    if (!outputs) return tl::unexpected(outputs.error());
    if (auto planned = without_result(session_.exchange_done(PlanCallRequest{image.request()}, doing)); !planned)
      return planned;
    if (launch > 0) continue;
    std::size_t const least = static_cast<std::size_t>(workload.launches.prelude) + 1;
    if (outputs->outside_us > 20 * long_enough_us) { // slow or large: one launch is long enough
      launches = least;
      continue;
    }
    // Captured, and launched once more with nothing to prepare and nothing to copy but its outputs: an upper bound of what it
    // takes.
    if (Checked<Outputs> const captured = image.run(); !captured) return tl::unexpected(captured.error());
    Checked<Outputs> const again = image.run();
    if (!again) return tl::unexpected(again.error());
    launches = std::clamp(least + static_cast<std::size_t>(long_enough_us / again->outside_us), least, launches);
  }
  launches_.push_back(static_cast<int>(launches));
  timed_launches_.push_back(static_cast<int>(launches) - workload.launches.prelude);
  Checked<CallResult> const captured =
      session_.exchange_done(CaptureRequest{static_cast<std::uint32_t>(workload.launches.prelude)}, doing);
  if (!captured) return tl::unexpected(captured.error());
  graphs_.push_back(static_cast<std::uint32_t>(captured->reply.wall_nanoseconds));
  return {};
}

Checked<void> DeviceTiming::upload(std::size_t workload) {
  std::vector<Extent> parts = std::move(changed_[workload]);
  changed_[workload].clear();
  std::size_t const used = static_cast<std::size_t>(launches_[workload]);
  UploadRequest const request{table_, parts.size(), used, output_poison};
  for (std::size_t launch = 0; launch < used; ++launch) parts.push_back(images_[workload][launch].result_extent());
  if (parts.size() > table_entries) {
    return machine_failure({ErrorKind::machine, "A measurement changes more parts of its inputs than it can list."});
  }
  std::memcpy(session_.input().data() + table_, parts.data(), parts.size() * sizeof(Extent));
  return without_result(session_.exchange_done(request, "copying inputs to the device"));
}

void DeviceTiming::note(std::size_t workload, int launch, Renewed const& renewed) {
  if (launch >= launches_[workload]) return;
  Image const& image = images_[workload][static_cast<std::size_t>(launch)];
  std::vector<Extent>& changed = changed_[workload];
  for (Renewed::QueryRows const& rows : renewed.queries) {
    changed.push_back(image.query_extent(rows.row_range, rows.first, rows.count));
  }
  for (Renewed::Token const& token : renewed.tokens) {
    for (Extent const& extent : image.token_extents(token.row_range, token.token)) changed.push_back(extent);
  }
}

Checked<DeviceTiming::Replay> DeviceTiming::replay(std::size_t workload) {
  if (auto uploaded = upload(workload); !uploaded) return tl::unexpected(uploaded.error());
  Checked<CallResult> const result = session_.exchange_done(ReplayRequest{graphs_[workload]}, "a timed replay");
  if (!result) return tl::unexpected(result.error());
  double const device_us = 1e-3 * static_cast<double>(result->reply.wall_nanoseconds);
  return Replay{device_us, result->outside_us - device_us - session_.round_trip().replay_us};
}

Checked<Outputs> DeviceTiming::outputs(std::size_t workload, int launch) {
  Image& image = images_[workload][static_cast<std::size_t>(launch)];
  auto const fetched = without_result(session_.exchange_done(FetchRequest{image.result_extent()}, "fetching outputs"));
  if (!fetched) return tl::unexpected(fetched.error());
  return image.collect();
}

} // namespace tik::evaluator
