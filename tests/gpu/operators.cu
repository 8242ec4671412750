#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "operators/arithmetic.h"
#include "operators/check/suite.h"
#include "tests/gpu/cuda_device.h"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

namespace check = operators::check;

check::Extent extent_of(Suite const& suite) {
  return suite.tiny ? check::Extent::tiny : suite.quick ? check::Extent::brief : check::Extent::thorough;
}

// How many x from 2^0 to 2^126, every step-th number there is, have other bits than the reciprocal that IEEE 754 defines.
__global__ void count_other_reciprocals(uint32_t step, uint32_t* others) {
  constexpr uint32_t first = 127u << 23;
  constexpr uint32_t end = (127u + 126u) << 23;
  uint32_t const threads = gridDim.x * blockDim.x;
  uint32_t count = 0;
  for (uint64_t bits = first + uint64_t{blockIdx.x * blockDim.x + threadIdx.x} * step; bits < end;
       bits += uint64_t{threads} * step) {
    float const x = __uint_as_float(static_cast<uint32_t>(bits));
    count += __float_as_uint(operators::reciprocal_of_normal(x)) != __float_as_uint(__frcp_rn(x));
  }
  if (count > 0) atomicAdd(others, count);
}

void check_reciprocals(Suite& suite) {
  suite.report.start("reciprocals");
  Buffer<uint32_t> others(1);
  others.zero();
  uint32_t const step = suite.tiny ? 65537 : 1;
  count_other_reciprocals<<<1024, 256>>>(step, others.data());
  require(cudaGetLastError(), "launching the comparison of reciprocals");
  uint32_t const count = others.download()[0];
  suite.report.record("reciprocals", count == 0, "every number from 1 to 2^126", std::to_string(count) + " have other bits");
}

// The models whose shapes have most in common together, so that few shapes are checked twice where each group has a thread.
std::vector<std::vector<check::ModelShape>> by_hidden_size(std::vector<check::ModelShape> const& models) {
  std::map<int, std::vector<check::ModelShape>> groups;
  for (check::ModelShape const& model : models) groups[model.hidden].push_back(model);
  std::vector<std::vector<check::ModelShape>> result;
  for (auto& [hidden, group] : groups) result.push_back(std::move(group));
  return result;
}

} // namespace

void check_operators(Suite& suite) {
  check_reciprocals(suite);
  CudaDevice device; // holds nothing: threads may share it
  check::CaseOptions const options{extent_of(suite), suite.seed};
  std::vector<check::ModelShape> const& models = check::known_models();

  // Most of the time goes into expected outputs and comparisons on the host, so groups of shapes run on threads of their own.
  std::mutex recording;
  std::vector<check::Line> lines;
  auto const collect = [&](auto run) {
    check::Results results([&](check::Line const& line, bool passed, std::string const& label, std::string const& detail) {
      std::lock_guard const lock(recording);
      suite.report.record(line.operator_name, passed, line.shape + ", " + label, detail);
    });
    try {
      run(results);
    } catch (std::exception const& error) {
      std::lock_guard const lock(recording);
      suite.report.record("operators", false, "a group of shapes ended early", error.what());
    }
    std::lock_guard const lock(recording);
    lines.insert(lines.end(), results.lines().begin(), results.lines().end());
  };
  suite.report.start("operators");
  collect([&](check::Results& results) {
    check::check_refusals(device, results);
    check::check_unusual_shapes(device, options, results);
  });
  if (!suite.tiny) {
    std::vector<std::thread> threads;
    for (auto& group : by_hidden_size(suite.quick ? std::vector{models[7], models[10]} : models)) {
      threads.emplace_back([&, group = std::move(group)] {
        collect([&](check::Results& results) { check::check_operators(device, group, options, results); });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::map<std::pair<std::string, std::string>, double> errors;
  for (check::Line const& line : lines) {
    if (line.largest_error < 0) continue;
    double& error = errors[{line.operator_name, line.shape}];
    error = std::max(error, line.largest_error);
  }
  for (auto const& [what, error] : errors) {
    std::printf("accuracy %s %s: largest error %.2e of the row's largest\n", what.first.c_str(), what.second.c_str(), error);
  }
}

} // namespace tik::gpu_suite
