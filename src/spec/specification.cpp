#include "src/spec/specification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "src/base/sha256.h"
#include "src/spec/table_reader.h"

namespace tik::spec {
namespace {

constexpr std::int64_t largest_tokens = 1 << 24;
constexpr std::int64_t largest_batch = 65535;
constexpr std::int64_t largest_check_tokens = 1 << 17;
constexpr std::int64_t largest_cases = 100000;
constexpr std::int64_t megabyte = 1 << 20;
constexpr std::int64_t largest_gpu_workload_mb = 64 * 1024;
constexpr std::size_t most_workloads = 256;

bool is_id(std::string_view text) {
  auto const allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

AttentionShape read_shape(TomlNode const& node, Diagnosis& diagnosis) {
  TableReader reader(node, "[shape]", {"query_heads", "kv_heads", "head_dim", "softmax_scale"}, diagnosis);
  AttentionShape shape;
  shape.query_heads = static_cast<int>(reader.integer("query_heads", {1, 1024}));
  shape.kv_heads = static_cast<int>(reader.integer("kv_heads", {1, 1024}));
  shape.head_dim = static_cast<int>(reader.integer("head_dim", {1, 1024}));
  if (shape.head_dim != 64 && shape.head_dim != 128)
    reader.report("head_dim", fmt::format("is {}, but must be 64 or 128.", shape.head_dim));
  if (shape.query_heads % shape.kv_heads != 0) {
    reader.report("query_heads",
                  fmt::format("is {}, which is not a multiple of kv_heads {}: every key/value head serves the same "
                              "number of query heads.",
                              shape.query_heads, shape.kv_heads));
  } else if (shape.query_heads / shape.kv_heads > 16) {
    reader.report("query_heads",
                  fmt::format("is {} times kv_heads, but at most 16 times is allowed.", shape.query_heads / shape.kv_heads));
  }
  shape.softmax_scale = reader.positive("softmax_scale", 1000, 1 / std::sqrt(static_cast<double>(shape.head_dim)));
  return shape;
}

// Bytes of queries, keys, values and outputs of one call, in bf16.
std::int64_t tensor_bytes(AttentionShape const& shape, std::int64_t batch, std::int64_t query_tokens, std::int64_t kv_tokens) {
  return batch * shape.head_dim * 2 * (2 * query_tokens * shape.query_heads + 2 * kv_tokens * shape.kv_heads);
}

// Layout, page size and prefix depend on each other and on the entry point.
void read_layout(TableReader& reader, Workload& workload) {
  if (workload.kind == WorkloadKind::full) {
    reader.choice("layout", {"packed"}, "packed");
  } else {
    auto const layout = reader.choice("layout", {"contiguous", "paged"}, "contiguous");
    workload.layout = layout == "paged" ? KvLayout::paged : KvLayout::contiguous;
  }
  if (workload.layout == KvLayout::paged) {
    workload.page_size = static_cast<int>(reader.integer("page_size", {1, 256}));
  } else if (reader.has("page_size")) {
    reader.report("page_size", "is only for layout = \"paged\": remove it or change the layout.");
  }
  if (workload.kind == WorkloadKind::extend) {
    workload.prefix = static_cast<int>(reader.integer("prefix", {1, largest_tokens}));
  } else if (reader.has("prefix")) {
    reader.report("prefix", "is only for entry_point = \"extend\": remove it or change the entry point.");
  }
}

// A workload must fit the machine that the file itself describes, so that a slip of a digit is found here and not by the
// kernel's out-of-memory killer.
void check_workload_memory(TableReader& reader, Specification const& specification, Workload const& workload) {
  std::int64_t const query_tokens = workload.kind == WorkloadKind::decode ? 1 : workload.tokens;
  std::int64_t const kv_tokens = std::int64_t{workload.tokens} + workload.prefix;
  std::int64_t const needed = tensor_bytes(specification.shape, workload.batch, query_tokens, kv_tokens) / megabyte;
  bool const cpu = specification.target == "cpu";
  std::int64_t const allowed = cpu ? specification.run_limits.memory_mb : largest_gpu_workload_mb;
  if (needed <= allowed) return;
  reader.report("tokens", fmt::format("needs {} MiB of tensors with batch {}, more than the {} MiB {}: make it smaller.",
                                      needed, workload.batch, allowed,
                                      cpu ? "that [limits.run] memory_mb allows" : "that a GPU workload may have"));
}

Workload read_workload(TomlNode const& node, std::string const& name, Specification const& specification,
                       Diagnosis& diagnosis) {
  TableReader reader(
      node, name, {"id", "entry_point", "batch", "tokens", "prefix", "layout", "page_size", "weight", "max_slowdown", "cache"},
      diagnosis);
  Workload workload;
  workload.id = reader.text("id", 64);
  if (!is_id(workload.id)) reader.report("id", "may hold letters, digits, '-', '_' and '.' only: rename the workload.");
  auto const entry_point = reader.choice("entry_point", {"full", "extend", "decode"});
  workload.kind = entry_point == "full"     ? WorkloadKind::full
                  : entry_point == "extend" ? WorkloadKind::extend
                                            : WorkloadKind::decode;
  workload.batch = static_cast<int>(reader.integer("batch", {1, largest_batch}, 1));
  workload.tokens = static_cast<int>(reader.integer("tokens", {1, largest_tokens}));
  read_layout(reader, workload);
  if (std::int64_t{workload.tokens} + workload.prefix > largest_tokens) {
    reader.report("prefix", fmt::format("and tokens are {} together, but at most {} are allowed.",
                                        std::int64_t{workload.tokens} + workload.prefix, largest_tokens));
  }
  workload.weight = reader.number("weight", {0, 1e9}, 1.0);
  workload.max_slowdown = reader.number("max_slowdown", {1, 1000}, 1.1);
  workload.cache = reader.choice("cache", {"cold", "warm"}, "cold") == "cold" ? CacheState::cold : CacheState::warm;
  check_workload_memory(reader, specification, workload);
  return workload;
}

// Reads the workloads after the shape and the limits, which bound them.
void read_workloads(TableReader& root, Specification& specification, Diagnosis& diagnosis) {
  std::map<std::string, int> lines;
  root.tables("workloads", most_workloads, [&](TomlNode const& node, std::string const& name) {
    auto const workload = read_workload(node, name, specification, diagnosis);
    auto const [first, fresh] = lines.emplace(workload.id, node.line);
    if (!fresh) {
      diagnosis.report(
          node.line, name + " id",
          fmt::format("'{}' is taken by the workload in line {}: give each its own id.", workload.id, first->second));
    }
    specification.workloads.push_back(workload);
  });
}

Checks read_checks(TomlNode const& node, Diagnosis& diagnosis) {
  TableReader reader(node, "[checks]",
                     {"seed", "prompts", "responses", "batches", "page_sizes", "query_heads_per_kv", "cuts", "repeats",
                      "accuracy_max_error", "accuracy_distributions", "lse_max_error"},
                     diagnosis);
  Checks checks;
  checks.seed = static_cast<std::uint64_t>(reader.integer("seed", {0, INT64_MAX}, 1));
  checks.prompts = reader.integers("prompts", {1, largest_check_tokens}, 64);
  checks.responses = reader.integers("responses", {1, largest_check_tokens}, 64);
  checks.batches = reader.integers("batches", {1, 1024}, 32);
  checks.page_sizes = reader.integers("page_sizes", {1, 256}, 32);
  checks.query_heads_per_kv = reader.integers("query_heads_per_kv", {1, 16}, 16, true);
  checks.cuts = static_cast<int>(reader.integer("cuts", {0, 64}, checks.cuts));
  checks.repeats = static_cast<int>(reader.integer("repeats", {1, 100}, checks.repeats));
  checks.accuracy_max_error = reader.positive("accuracy_max_error", 1, checks.accuracy_max_error);
  checks.lse_max_error = reader.positive("lse_max_error", 1, checks.lse_max_error);
  std::vector<std::string_view> const known = {"normal", "large", "dominant-key", "equal"};
  checks.accuracy_distributions = reader.texts("accuracy_distributions", 64, 4, true);
  for (auto const& name : checks.accuracy_distributions) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      reader.report("accuracy_distributions", fmt::format("holds '{}', which is not known{}; known: {}.", name,
                                                          did_you_mean(name, known), quoted_list(known)));
    } else if (std::count(checks.accuracy_distributions.begin(), checks.accuracy_distributions.end(), name) > 1) {
      reader.report("accuracy_distributions", fmt::format("holds '{}' twice: list every distribution once.", name));
    }
  }
  if (checks.accuracy_distributions.empty()) checks.accuracy_distributions = {"normal", "large", "dominant-key", "equal"};
  auto const count = [](std::vector<int> const& values) {
    return static_cast<std::int64_t>(std::max<std::size_t>(1, values.size()));
  };
  std::int64_t const cases = count(checks.prompts) * count(checks.responses) * count(checks.batches) *
                             count(checks.page_sizes) * (1 + static_cast<std::int64_t>(checks.query_heads_per_kv.size()));
  if (cases > largest_cases) {
    reader.report("prompts",
                  fmt::format("and the other lists multiply to {} cases, but at most {} are checked: shorten the lists.", cases,
                              largest_cases));
  }
  return checks;
}

// The largest case of the checks must fit into memory, too.
void check_checks_memory(Specification const& specification, TomlNode const& node, Diagnosis& diagnosis) {
  auto const largest = [](std::vector<int> const& values) {
    return values.empty() ? std::int64_t{1} : std::int64_t{*std::max_element(values.begin(), values.end())};
  };
  Checks const& checks = specification.checks;
  std::int64_t const tokens = largest(checks.prompts) + largest(checks.responses);
  AttentionShape shape = specification.shape;
  shape.query_heads = std::max(shape.query_heads, static_cast<int>(shape.kv_heads * largest(checks.query_heads_per_kv)));
  std::int64_t const needed = tensor_bytes(shape, largest(checks.batches), tokens, tokens) / megabyte;
  if (needed <= specification.run_limits.memory_mb) return;
  diagnosis.report(node.line, "[checks] prompts",
                   fmt::format("and responses of {} tokens with batch {} need {} MiB of tensors, more than the {} MiB that "
                               "[limits.run] memory_mb allows: make the largest case smaller.",
                               tokens, largest(checks.batches), needed, specification.run_limits.memory_mb));
}

Measurement read_measurement(TomlNode const& node, Diagnosis& diagnosis) {
  TableReader reader(node, "[measurement]", {"rounds", "max_rounds", "warmup", "pin_cpu", "min_round_us", "noise", "repeats"},
                     diagnosis);
  Measurement measurement;
  measurement.rounds = static_cast<int>(reader.integer("rounds", {1, 1000}, measurement.rounds));
  measurement.max_rounds =
      static_cast<int>(reader.integer("max_rounds", {1, 10000}, std::max(measurement.rounds, measurement.max_rounds)));
  if (measurement.max_rounds < measurement.rounds) {
    reader.report("max_rounds",
                  fmt::format("is {}, but must be at least rounds, {}.", measurement.max_rounds, measurement.rounds));
  }
  measurement.warmup = static_cast<int>(reader.integer("warmup", {0, 1000}, measurement.warmup));
  measurement.pin_cpu = reader.boolean("pin_cpu", measurement.pin_cpu);
  measurement.min_round_us = reader.number("min_round_us", {0, 1e6}, measurement.min_round_us);
  measurement.noise = reader.number("noise", {0, 0.5}, measurement.noise);
  measurement.repeats = static_cast<int>(reader.integer("repeats", {0, 20}, measurement.repeats));
  return measurement;
}

Stopping read_stopping(TomlNode const& node, Diagnosis& diagnosis) {
  TableReader reader(node, "[stopping]", {"patience", "steps", "seconds", "tokens"}, diagnosis);
  Stopping stopping;
  stopping.patience = static_cast<int>(reader.integer("patience", {1, 1000000}, stopping.patience));
  if (reader.has("steps")) stopping.steps = static_cast<int>(reader.integer("steps", {1, 1000000}));
  if (reader.has("seconds")) stopping.seconds = reader.positive("seconds", 1e9);
  if (reader.has("tokens")) stopping.tokens = reader.integer("tokens", {1, 1000000000000});
  return stopping;
}

ProcessLimits read_limits(TomlNode const& node, std::string const& name, Diagnosis& diagnosis) {
  TableReader reader(node, name, {"seconds", "memory_mb", "log_kb", "processes", "file_mb"}, diagnosis);
  ProcessLimits limits;
  limits.seconds = reader.positive("seconds", 86400, limits.seconds);
  limits.memory_mb = reader.integer("memory_mb", {16, 1 << 20}, limits.memory_mb);
  limits.log_kb = reader.integer("log_kb", {1, 1 << 17}, limits.log_kb);
  limits.processes = static_cast<int>(reader.integer("processes", {1, 65536}, limits.processes));
  limits.file_mb = reader.integer("file_mb", {1, 1 << 20}, limits.file_mb);
  return limits;
}

void read_all_limits(TableReader& root, Specification& specification, Diagnosis& diagnosis) {
  auto const* node = root.table("limits", false);
  if (node == nullptr) return;
  TableReader reader(*node, "[limits]", {"build", "run"}, diagnosis);
  if (auto const* build = reader.table("build", false))
    specification.build_limits = read_limits(*build, "[limits.build]", diagnosis);
  if (auto const* run = reader.table("run", false)) specification.run_limits = read_limits(*run, "[limits.run]", diagnosis);
}

// What only shows when all workloads are known.
void check_workloads(TableReader& root, Specification const& specification) {
  auto const& workloads = specification.workloads;
  auto const none = [&](EntryPoint entry_point) {
    return std::none_of(workloads.begin(), workloads.end(), [&](Workload const& w) { return w.entry_point() == entry_point; });
  };
  if (workloads.empty()) {
    root.report("workloads",
                "there is none: add at least one [[workloads]] with entry_point = \"full\" and one with \"decode\".");
  } else if (none(EntryPoint::full)) {
    root.report("workloads", "none has entry_point = \"full\" or \"extend\": add one, a search optimizes both entry points.");
  } else if (none(EntryPoint::decode)) {
    root.report("workloads", "none has entry_point = \"decode\": add one, a search optimizes both entry points.");
  } else if (std::all_of(workloads.begin(), workloads.end(), [](Workload const& w) { return w.weight == 0; })) {
    root.report("workloads", "every weight is 0, so nothing could ever be faster: give at least one a weight above 0.");
  }
}

} // namespace

std::string_view to_string(EntryPoint entry_point) { return entry_point == EntryPoint::full ? "full" : "decode"; }

Workload const* Specification::find_workload(std::string_view id) const {
  auto const found = std::find_if(workloads.begin(), workloads.end(), [&](Workload const& w) { return w.id == id; });
  return found == workloads.end() ? nullptr : &*found;
}

Result<Specification> parse_specification(std::string text, std::string const& file_name) {
  TIK_TRY(auto const document, parse_document(text, file_name));
  Diagnosis diagnosis(file_name);
  TableReader root(
      document, "",
      {"schema", "name", "operator", "target", "root", "shape", "workloads", "checks", "measurement", "stopping", "limits"},
      diagnosis);
  Specification result;
  result.schema = static_cast<int>(root.integer("schema", {1, 1}));
  result.name = root.text("name", 200);
  result.operator_name = root.choice("operator", {"attention"});
  result.target = root.choice("target", {"cpu", "sm_90a"});
  result.root = root.text("root", 4096, "");
  if (auto const* node = root.table("shape", true)) result.shape = read_shape(*node, diagnosis);
  read_all_limits(root, result, diagnosis);
  read_workloads(root, result, diagnosis);
  if (auto const* node = root.table("checks", true)) {
    result.checks = read_checks(*node, diagnosis);
    if (!diagnosis.failed()) check_checks_memory(result, *node, diagnosis);
  }
  if (auto const* node = root.table("measurement", false)) result.measurement = read_measurement(*node, diagnosis);
  if (auto const* node = root.table("stopping", false)) result.stopping = read_stopping(*node, diagnosis);
  check_workloads(root, result);
  if (diagnosis.failed()) return tl::unexpected(diagnosis.error());
  result.text = std::move(text);
  return result;
}

Result<Specification> load_specification(std::filesystem::path const& file) {
  TIK_TRY(auto text, read_document(file));
  return parse_specification(std::move(text), file.string());
}

std::string seal(Specification const& specification, std::map<std::string, double> const& baseline_us) {
  // Lengths in front of what varies, so that no two different inputs are the same bytes.
  std::string sealed = fmt::format("tik specification\nchecks {}\n{} bytes\n", checks_version, specification.text.size());
  sealed += specification.text;
  for (auto const& [id, latency_us] : baseline_us) sealed += fmt::format("\nbaseline {} {} {}", id.size(), id, latency_us);
  return sha256_hex(sealed);
}

} // namespace tik::spec
