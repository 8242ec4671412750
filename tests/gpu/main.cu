// The GPU suite. Usage:
//   suite [--kind NAME]... [--quick] [--tiny] [--seed N] [--kernel simple] [--json FILE] [--verbose]
// Prints one line for each kind of check and, last, `gpu: N passed, N failed, N skipped`. Exit status 0 when nothing failed.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>

#include "tests/gpu/kinds.h"

using namespace tik::gpu_suite;

namespace {

struct Kind {
  char const* name;
  void (*check)(Suite&);
};
constexpr Kind kinds[] = {{"hardware", check_hardware},
                          {"refusals", check_refusals},
                          {"accuracy", check_accuracy},
                          {"kernels", check_kernels},
                          {"variants", check_variants},
                          {"folds", check_folds},
                          {"positions", check_positions},
                          {"tails", check_tails},
                          {"chunks", check_chunks},
                          {"neighbours", check_neighbours},
                          {"packed-order", check_packed_order},
                          {"pages", check_pages},
                          {"padding", check_padding},
                          {"repeats", check_repeats},
                          {"graphs", check_graphs},
                          {"operators", check_operators},
                          {"dense", check_dense}};

struct Options {
  std::vector<std::string> kinds;
  bool quick = false;
  bool tiny = false;
  uint64_t seed = 1;
  std::optional<Kernel> kernel;
  std::string json;
  bool verbose = false;
};

int usage() {
  std::printf(
      "usage: suite [--kind NAME]... [--quick] [--tiny] [--seed N] [--kernel simple] [--json FILE] [--verbose]\nkinds:");
  for (Kind const& kind : kinds) std::printf(" %s", kind.name);
  std::printf("\n");
  return 2;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string const flag = argv[i];
    bool const has_value = i + 1 < argc;
    if (flag == "--quick") {
      options.quick = true;
    } else if (flag == "--tiny") {
      options.tiny = true;
    } else if (flag == "--verbose") {
      options.verbose = true;
    } else if (flag == "--kind" && has_value) {
      std::string const value = argv[++i];
      if (std::none_of(std::begin(kinds), std::end(kinds), [&](Kind const& kind) { return value == kind.name; })) return {};
      options.kinds.push_back(value);
    } else if (flag == "--seed" && has_value) {
      options.seed = std::stoull(argv[++i]);
    } else if (flag == "--kernel" && has_value && std::strcmp(argv[i + 1], "simple") == 0) {
      options.kernel = Kernel::simple;
      ++i;
    } else if (flag == "--json" && has_value) {
      options.json = argv[++i];
    } else {
      return {};
    }
  }
  return options;
}

void describe_machine() {
  int device = 0;
  int driver = 0;
  int runtime = 0;
  cudaDeviceProp properties;
  require(cudaGetDevice(&device), "finding a device");
  require(cudaGetDeviceProperties(&properties, device), "describing the device");
  require(cudaDriverGetVersion(&driver), "reading the driver version");
  require(cudaRuntimeGetVersion(&runtime), "reading the runtime version");
  std::printf("%s, compute capability %d.%d, %d multiprocessors, CUDA driver %d, runtime %d\n", properties.name,
              properties.major, properties.minor, properties.multiProcessorCount, driver, runtime);
}

} // namespace

int main(int argc, char** argv) {
  std::optional<Options> const options = parse(argc, argv);
  if (!options) return usage();
  Report report;
  Suite suite{report, options->seed, options->quick, options->tiny, options->kernel, options->verbose};
  try {
    describe_machine();
    for (Kind const& kind : kinds) {
      auto const& wanted = options->kinds;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), kind.name) == wanted.end()) continue;
      report.start(kind.name);
      kind.check(suite);
    }
  } catch (std::exception const& error) {
    report.record("machine", false, "the run ended early", error.what());
  }
  report.start("");
  report.print();
  if (!options->json.empty()) std::ofstream(options->json) << report.json();
  return report.good() ? 0 : 1;
}
