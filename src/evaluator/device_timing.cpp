#include "src/evaluator/device_timing.h"

#include <algorithm>
#include <cstring>

namespace tik::evaluator {
namespace {

constexpr double long_enough_us = 5000; // of a timed graph
constexpr std::size_t many_pieces = 64; // a copy each would take longer than to let the device read them
constexpr std::size_t table_entries = std::size_t{1} << 16;

Checked<void> without_result(Checked<CallResult> const& result) {
  if (!result) return tl::unexpected(result.error());
  return {};
}

} // namespace

Checked<std::unique_ptr<DeviceTiming>> DeviceTiming::start(StageContext const& context,
                                                           BuiltImplementation const& implementation,
                                                           std::shared_ptr<SharedMemory> inputs) {
  Checked<Session> session = start_session(context, implementation, WorkerUse::timing, std::nullopt, std::move(inputs));
  if (!session) return tl::unexpected(std::move(session.error()));
  MemoryNeed const need = memory_need(context.specification, WorkerUse::timing);
  return std::unique_ptr<DeviceTiming>(new DeviceTiming(std::move(*session), need));
}

Checked<void> DeviceTiming::lay_out(std::vector<TimedWorkload> const& workloads, DeviceTiming const* beside, Random& random) {
  if (beside != nullptr) {
    table_ = beside->table_; // one worker at a time reads it
  } else {
    auto const table = arena_.place(Part::indices, table_entries * sizeof(Extent), alignof(Extent), random);
    if (!table) return machine_failure({ErrorKind::machine, "The shared memory of a measurement is too small."});
    table_ = *table;
  }
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    arena_.rewind(random);
    if (auto laid_out = place(workloads[w], beside == nullptr ? nullptr : &beside->images_[w], random); !laid_out)
      return laid_out;
  }
  return upload_all();
}

Checked<void> DeviceTiming::capture(std::vector<TimedWorkload> const& workloads) {
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    if (auto captured = capture_one(workloads[w], w); !captured) return captured;
  }
  return {};
}

Checked<void> DeviceTiming::place(TimedWorkload const& workload, std::vector<Image> const* beside, Random& random) {
  std::vector<Image>& images = images_.emplace_back();
  std::size_t const count = static_cast<std::size_t>(workload.launches.count);
  images.reserve(count);
  for (std::size_t launch = 0; launch < count; ++launch) {
    std::size_t const caches = static_cast<std::size_t>(workload.launches.caches);
    Image const* const cache_of = launch < caches ? nullptr : &images[launch % caches];
    Checked<Image> image = beside != nullptr ? (*beside)[launch].beside(arena_, random)
                                             : Image::place(arena_, workload.dataset, workload.shape, random, cache_of);
    if (!image) return tl::unexpected(std::move(image.error()));
    images.push_back(std::move(*image));
  }
  return {};
}

// All inputs as they are, and workspaces that are zero before their first use.
Checked<void> DeviceTiming::upload_all() {
  std::vector<Extent> workspaces;
  for (std::vector<Image> const& images : images_) {
    for (Image const& image : images) {
      if (Extent const workspace = image.workspace_extent(); workspace.end > workspace.begin) workspaces.push_back(workspace);
    }
  }
  return upload({{0, session_.input().size()}}, workspaces, 0);
}

// Every call is made by itself before: whatever a first call prepares is done outside the capture. Slow calls need fewer
// launches to be long against the clock's steps.
Checked<void> DeviceTiming::capture_one(TimedWorkload const& workload, std::size_t index) {
  std::string const doing = "the capture of " + workload.workload->id;
  std::size_t launches = images_[index].size();
  for (std::size_t launch = 0; launch < launches; ++launch) {
    CallRequest const& request = images_[index][launch].request();
    if (auto called = without_result(session_.exchange_done(request, doing)); !called) return called;
    if (auto planned = without_result(session_.exchange_done(PlanCallRequest{request}, doing)); !planned) return planned;
    if (launch > 0) continue;
    Checked<CallResult> const again = session_.exchange_done(request, doing); // an upper bound of what it takes
    if (!again) return tl::unexpected(again.error());
    std::size_t const least = static_cast<std::size_t>(workload.launches.prelude) + 1;
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

Checked<void> DeviceTiming::upload(std::vector<Extent> copied, std::vector<Extent> const& filled, std::uint16_t filling) {
  UploadRequest const request{table_, copied.size(), filled.size(), filling, copied.size() >= many_pieces};
  copied.insert(copied.end(), filled.begin(), filled.end());
  if (copied.size() > table_entries) {
    return machine_failure({ErrorKind::machine, "A measurement changes more parts of its inputs than it can list."});
  }
  std::memcpy(session_.input().data() + table_, copied.data(), copied.size() * sizeof(Extent));
  return without_result(session_.exchange_done(request, "copying inputs to the device"));
}

Checked<DeviceTiming::Replay> DeviceTiming::replay(std::size_t workload) {
  // Results of one workload lie side by side.
  std::vector<Extent> const results = {
      {image(workload, 0).result_extent().begin, image(workload, launches_[workload] - 1).result_extent().end}};
  if (auto uploaded = upload(std::move(changed_), results, output_poison); !uploaded) return tl::unexpected(uploaded.error());
  changed_.clear();
  Checked<CallResult> const result = session_.exchange_done(ReplayRequest{graphs_[workload]}, "a timed replay");
  if (!result) return tl::unexpected(result.error());
  double const device_us = 1e-3 * static_cast<double>(result->reply.wall_nanoseconds);
  return Replay{device_us, result->outside_us - device_us - session_.round_trip().replay_us};
}

Checked<Outputs> DeviceTiming::outputs(std::size_t workload, int launch) {
  Image& image = images_[workload][static_cast<std::size_t>(launch)];
  image.poison_outputs(); // other results lay here before
  auto const fetched = without_result(session_.exchange_done(FetchRequest{image.result_extent()}, "fetching outputs"));
  if (!fetched) return tl::unexpected(fetched.error());
  return image.collect();
}

} // namespace tik::evaluator
