// `tik check`: do the operators keep their promise on this machine? Their consistency cases at the shapes of a model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "operators/check/model/model_cases.h"
#include "src/cli/commands.h"
#include "src/cli/gpu_memory.h"
#include "src/cli/interrupt.h"
#include "src/cli/operators_library.h"
#include "src/report/format.h"

namespace tik::cli {
namespace {

namespace cases = operators::check;

constexpr std::string_view gpu_library = "libtik_operators_sm90.so";

// What is checked, with what a person is told about the choice.
struct Subject {
  std::string backend; // "cpu" or "sm90"
  std::unique_ptr<cases::Device> device;
  cases::AttentionFunctions attention;
  std::filesystem::path library; // empty: the CPU backend inside this program
  std::string note;              // why it is not the GPU, where nobody asked for the CPU
};

struct Interrupted {};

Result<cases::ModelShape> shape_of(Check const& options) {
  if (options.shape.hidden == 0) {
    for (cases::ModelShape const& model : cases::known_models()) {
      if (model.name == options.model) return model;
    }
    std::vector<std::string> names;
    for (cases::ModelShape const& model : cases::known_models()) names.push_back(model.name);
    return input_error(fmt::format("There is no model {}. Known are {}; any other shape is given by --hidden and its like.",
                                   options.model, report::join(names, ", ")));
  }
  CheckedShape const& given = options.shape;
  cases::ModelShape const shape{"this shape",   given.hidden,       given.heads,      given.kv_heads,
                                given.head_dim, given.intermediate, given.vocabulary, given.qk_norm};
  if (auto const refusal = cases::validate_model(shape)) return input_error(refusal->sentence);
  return shape;
}

Result<void> check_operator_names(std::vector<std::string> const& names) {
  std::vector<std::string> const& known = cases::checked_operators();
  for (std::string const& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return input_error(fmt::format("There is no operator {}. Known are {}.", name, report::join(known, ", ")));
  }
  return {};
}

Result<void> check_processor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {};
  return machine_error(
      "This processor has no AVX2 or no FMA, and the CPU backend, which every check compares with, needs both.");
}

Subject built_in_cpu(std::string note) {
  return {"cpu", std::make_unique<cases::HostDevice>(), cases::host_attention(), "", std::move(note)};
}

Subject on_gpu(OperatorsLibrary const& library, Gpu gpu) {
  return {library.backend, std::make_unique<GpuMemory>(std::move(gpu), library.functions), library.attention, library.file, ""};
}

Result<Subject> from_library(Check const& options) {
  TIK_TRY(OperatorsLibrary const library, load_operators(options.library));
  if (library.backend == "sm90") {
    if (options.cpu)
      return input_error(fmt::format("{}: its backend is sm90, for a GPU: leave out --cpu.", options.library.string()));
    Result<Gpu> gpu = open_gpu();
    if (!gpu) return machine_error(gpu.error().message);
    return on_gpu(library, *std::move(gpu));
  }
  if (options.gpu) {
    return input_error(fmt::format("{}: its backend is {}, which works on host memory: leave out --gpu.",
                                   options.library.string(), library.backend));
  }
  return Subject{library.backend, std::make_unique<cases::HostDevice>(library.functions), library.attention, options.library,
                 ""};
}

Result<Subject> choose_subject(Check const& options) {
  if (!options.library.empty()) return from_library(options);
  if (options.cpu) return built_in_cpu("");
  Result<Gpu> gpu = open_gpu();
  if (!gpu && options.gpu) return machine_error(gpu.error().message);
  if (!gpu) return built_in_cpu("The GPU kernels are not checked. " + gpu.error().message);
  std::optional<std::filesystem::path> const library = find_operators(gpu_library);
  if (library) {
    TIK_TRY(OperatorsLibrary const kernels, load_operators(*library));
    if (kernels.backend == "sm90") return on_gpu(kernels, *std::move(gpu));
    return input_error(fmt::format("{}: its backend is {}, not sm90: use the library of the same release.", library->string(),
                                   kernels.backend));
  }
  return machine_error(
      fmt::format("{} is here, but {} lies neither beside tik nor in ../lib: name it with --library, or check "
                  "the CPU backend with --cpu.",
                  gpu->name, gpu_library));
}

nlohmann::ordered_json to_json(Subject const& subject, cases::ModelShape const& shape, std::string_view selection,
                               cases::Results const& results, double seconds) {
  auto json = nlohmann::ordered_json{{"schema", 1}};
  json["consistent"] = results.failed() == 0;
  json["backend"] = subject.backend;
  json["device"] = subject.device->name();
  if (!subject.library.empty()) json["library"] = subject.library.string();
  if (!subject.note.empty()) json["note"] = subject.note;
  json["model"] = {{"name", shape.name},
                   {"hidden", shape.hidden},
                   {"heads", shape.query_heads},
                   {"kv_heads", shape.kv_heads},
                   {"head_dim", shape.head_dim},
                   {"intermediate", shape.intermediate},
                   {"vocabulary", shape.vocabulary},
                   {"qk_norm", shape.qk_norm}};
  json["selection"] = selection;
  json["seconds"] = seconds;
  json["cases"] = results.cases();
  json["failed"] = results.failed();
  json["lines"] = nlohmann::ordered_json::array();
  for (cases::Line const& line : results.lines()) {
    nlohmann::ordered_json entry = {
        {"operator", line.operator_name}, {"shape", line.shape}, {"cases", line.cases}, {"failed", line.failed}};
    if (line.largest_error >= 0) entry["largest_error"] = line.largest_error;
    if (line.failed > 0) entry["first_failure"] = line.first_failure;
    json["lines"].push_back(std::move(entry));
  }
  return json;
}

std::string table_of(cases::Results const& results) {
  std::vector<std::vector<std::string>> rows = {{"operator", "shape", "cases", "result", "largest error"}};
  for (cases::Line const& line : results.lines()) {
    rows.push_back({line.operator_name, line.shape, std::to_string(line.cases),
                    line.failed == 0 ? "ok" : fmt::format("{} FAILED", line.failed),
                    line.largest_error < 0 ? "-" : fmt::format("{:.1e}", line.largest_error)});
  }
  return report::text_table(rows, "llrlr");
}

std::string text_of(Subject const& subject, cases::ModelShape const& shape, cases::Results const& results, double seconds,
                    Console const& console) {
  std::string text = subject.note.empty() ? "" : subject.note + '\n';
  text += fmt::format("{} on {}\n{}", shape.name, subject.backend == "cpu" ? "the CPU backend" : subject.device->name(),
                      table_of(results));
  for (cases::Line const& line : results.lines()) {
    if (line.failed == 0) continue;
    text +=
        fmt::format("{} {} {}: {}\n", console.paint("FAILED", Paint::bad), line.operator_name, line.shape, line.first_failure);
  }
  std::string const verdict =
      results.failed() == 0 ? console.paint("consistent", Paint::good) + ": all of " + report::count(results.cases(), "case")
                            : fmt::format("{}: {} of {}", console.paint("not consistent", Paint::bad), results.failed(),
                                          report::count(results.cases(), "case"));
  return text + fmt::format("{} in {:.1f} s\n", verdict, seconds);
}

// The cases with their progress on standard error.
Result<cases::Results> run_cases(Subject& subject, cases::ModelShape const& shape, cases::CaseOptions const& options,
                                 Console const& console) {
  LiveLine live(stderr, console.error_terminal);
  int failed = 0;
  cases::Results results([&](cases::Line const& line, bool passed, std::string const&, std::string const&) {
    if (Interrupt::flag()) throw Interrupted{};
    failed += !passed;
    live.show(fmt::format("{} {}: {}{}", line.operator_name, line.shape, report::count(line.cases, "case"),
                          failed == 0 ? "" : fmt::format(", {} failed so far", failed)));
  });
  Interrupt const interrupt;
  try {
    cases::check_model({*subject.device, subject.attention, subject.backend == "cpu"}, shape, options, results);
  } catch (Interrupted) {
    return tl::unexpected(Error{ErrorKind::cancelled, "The check was stopped; nothing is known of the rest."});
  } catch (std::runtime_error const& failure) {
    cases::Line const* const line = results.lines().empty() ? nullptr : &results.lines().back();
    return machine_error(
        fmt::format("{}The check ended early: {}", line ? line->operator_name + ' ' + line->shape + ": " : "", failure.what()));
  }
  return results;
}

} // namespace

Result<int> execute(Check const& options, Console const& console) {
  TIK_TRY(cases::ModelShape const shape, shape_of(options));
  TIK_CHECK(check_operator_names(options.operators));
  TIK_CHECK(check_processor());
  TIK_TRY(Subject subject, choose_subject(options));
  cases::Extent const extent = options.quick      ? cases::Extent::tiny
                               : options.thorough ? cases::Extent::thorough
                                                  : cases::Extent::brief;
  std::string_view const selection = options.quick ? "quick" : options.thorough ? "thorough" : "default";
  auto const begin = std::chrono::steady_clock::now();
  TIK_TRY(cases::Results const results, run_cases(subject, shape, {extent, options.seed, options.operators}, console));
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.json) {
    print_json(to_json(subject, shape, selection, results, seconds));
  } else {
    print(text_of(subject, shape, results, seconds, console));
  }
  return results.failed() == 0 ? 0 : 1;
}

} // namespace tik::cli
