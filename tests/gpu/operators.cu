#include "operators/check/suite.h"
#include "tests/gpu/cuda_device.h"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

namespace check = operators::check;

check::Extent extent_of(Suite const& suite) {
  return suite.tiny ? check::Extent::tiny : suite.quick ? check::Extent::brief : check::Extent::thorough;
}

} // namespace

void check_operators(Suite& suite) {
  CudaDevice device;
  check::Results results([&](check::Line const& line, bool passed, std::string const& label, std::string const& detail) {
    suite.report.start(line.operator_name);
    suite.report.record(line.operator_name, passed, line.shape + ", " + label, detail);
  });
  check::CaseOptions const options{extent_of(suite), suite.seed};
  std::vector<check::ModelShape> const& models = check::known_models();
  check::check_refusals(device, results);
  if (!suite.tiny) check::check_operators(device, suite.quick ? std::vector{models[7], models[10]} : models, options, results);
  check::check_unusual_shapes(device, options, results);
  for (check::Line const& line : results.lines()) {
    if (line.largest_error < 0) continue;
    std::printf("accuracy %s %s: largest error %.2e of the row's largest\n", line.operator_name.c_str(), line.shape.c_str(),
                line.largest_error);
  }
}

} // namespace tik::gpu_suite
