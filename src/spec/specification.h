// The evaluation specification (paper, section 4.1): what is asked of every implementation of a search, fixed for its whole
// life.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"

namespace tik::spec {

// The two entry points of a unified implementation. `extend` workloads (a chunk of tokens over a cached prefix) count as full.
enum class EntryPoint { full, decode };
std::string_view to_string(EntryPoint entry_point);

enum class WorkloadKind { full, extend, decode };
enum class KvLayout { packed, contiguous, paged };
enum class CacheState { cold, warm };

// The shape of the operator: every workload and check of a specification uses it.
struct AttentionShape {
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  double softmax_scale = 0; // default 1 / sqrt(head_dim)
};

struct Workload {
  std::string id;
  WorkloadKind kind = WorkloadKind::full;
  int batch = 1;
  int tokens = 0; // full: tokens of each sequence; extend: query tokens of each; decode: KV tokens of each
  int prefix = 0; // extend: cached tokens before the chunk
  KvLayout layout = KvLayout::packed;
  int page_size = 0;         // paged only
  double weight = 1.0;       // c_w >= 0 in T(I) = sum of c_w * lat(I, w)
  double max_slowdown = 1.1; // limit: lat(I, w) <= max_slowdown * baseline latency
  CacheState cache = CacheState::cold;
  EntryPoint entry_point() const { return kind == WorkloadKind::decode ? EntryPoint::decode : EntryPoint::full; }
};

struct Checks {
  std::uint64_t seed = 1;
  std::vector<int> prompts, responses, batches, page_sizes;
  std::vector<int> query_heads_per_kv; // GQA ratios tested besides the shape's own
  int cuts = 2;                        // random chunkings of each long prompt
  int repeats = 3;                     // identical runs that must give identical bits
  double accuracy_max_error = 0.02;    // largest |out - reference| / max|v|
  double lse_max_error = 0.01;
  std::vector<std::string> accuracy_distributions; // "normal", "large", "dominant-key", "equal"
};

struct Measurement {
  int rounds = 11;     // interleaved rounds of candidate and incumbent
  int max_rounds = 33; // more rounds are taken while the gain is within the noise
  int warmup = 2;
  bool pin_cpu = true;
  double min_round_us = 200; // a round repeats the call until it lasts this long
  double noise = 0.01;       // a gain in T up to this fraction of it is within the noise: it is measured again
  int repeats = 4;           // at most this often
};

struct Stopping {
  int patience = 30;                  // kappa_max: consecutive audits without improvement
  std::optional<int> steps;           // audits after the root's
  std::optional<double> seconds;      // wall-clock, over all runs of the search
  std::optional<std::int64_t> tokens; // model input and output tokens
};

struct ProcessLimits {
  double seconds = 60; // wall-clock
  std::int64_t memory_mb = 4096;
  std::int64_t log_kb = 1024; // output kept; more is cut and said
  int processes = 64;
  std::int64_t file_mb = 256;
};

struct Specification {
  int schema = 1;
  std::string name;
  std::string operator_name; // "attention"
  std::string target;        // "cpu", "sm_90a"
  std::string root;          // path to the root implementation as written in the file; may be empty
  AttentionShape shape;
  std::vector<Workload> workloads;
  Checks checks;
  Measurement measurement;
  Stopping stopping;
  ProcessLimits build_limits, run_limits;

  // The exact text of the file. The seal is a hash of these bytes, never of a re-serialisation.
  std::string text;

  Workload const* find_workload(std::string_view id) const;
};

// Changes whenever a check or a measurement changes its meaning: audits under different versions are not comparable.
inline constexpr std::string_view checks_version = "2";

// Parses and checks every key. The error is one sentence that starts with "FILE:LINE: KEY:".
Result<Specification> parse_specification(std::string text, std::string const& file_name);
Result<Specification> load_specification(std::filesystem::path const& file);

// Lower-case hex SHA-256 over the specification's bytes, checks_version and, once the root is audited, its baseline latencies
// by workload id (shortest exact decimal form), so that the seal covers everything that decides about promotion.
std::string seal(Specification const& specification, std::map<std::string, double> const& baseline_us = {});

} // namespace tik::spec
