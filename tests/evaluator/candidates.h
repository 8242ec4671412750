// Candidates for the evaluator: a plain correct implementation in one file, and places where a test puts something hostile.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "src/base/files.h"
#include "tests/sample_texts.h"

namespace tik::evaluator {

// Code put into the correct implementation.
struct Hostility {
  std::string declarations = {}; // before everything else
  std::string on_load = {};      // in a constructor of the library
  std::string before = {};       // in a valid call, first; `args` and `entry` (0 full, 1 extend, 2 decode) are there
  std::string after = {};        // in a valid call, last
  std::string version = "TIK_ATTENTION_ABI_VERSION";
  std::string scale = "args->shape.softmax_scale";
  std::string build = {}; // a shell command instead of the compiler; $0 is the library to write
};

inline constexpr char plain_implementation[] = R"candidate(
#include "operators/attention/contract.h"

  @declarations@
extern "C" {
    float expf(float);
    float logf(float);
  }

  namespace {
  char const* sentence = "";

  __attribute__((constructor)) void on_load() { @on_load@ }

  float wide(tik_bf16 value) {
    unsigned const bits = static_cast<unsigned>(value) << 16;
    float result;
    __builtin_memcpy(&result, &bits, 4);
    return result;
  }
  tik_bf16 narrow(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    return static_cast<tik_bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  bool aligned(void const* pointer) { return pointer != nullptr && reinterpret_cast<unsigned long>(pointer) % 16 == 0; }

  tik_status refuse(tik_attention_args const* args, int entry) {
    sentence = "The request contradicts the contract.";
    if (args == nullptr || args->struct_bytes != sizeof *args) return TIK_INVALID_ARGUMENT;
    tik_attention_shape const& shape = args->shape;
    if (args->batch < 1 || args->batch > args->limits.batch || shape.kv_heads < 1 || shape.query_heads % shape.kv_heads != 0 ||
        (shape.head_dim != 64 && shape.head_dim != 128) || !(shape.softmax_scale > 0))
      return TIK_INVALID_ARGUMENT;
    if (!aligned(args->queries) || !aligned(args->out) || !aligned(args->kv.keys) || !aligned(args->kv.values))
      return TIK_INVALID_ARGUMENT;
    if (args->query_token_stride % 8 != 0 || args->out_head_stride < shape.head_dim) return TIK_INVALID_ARGUMENT;
    if (args->kv.layout < 0 || args->kv.layout > 2) return TIK_INVALID_ARGUMENT;
    if ((entry != 2 && args->query_offsets == nullptr) || (entry != 0 && args->kv_lengths == nullptr))
      return TIK_INVALID_ARGUMENT;
    return TIK_OK;
  }

  long element(tik_attention_args const* args, int sequence, int token) {
    tik_kv_view const& kv = args->kv;
    if (kv.layout == TIK_KV_PACKED) return (args->query_offsets[sequence] + token) * kv.token_stride;
    if (kv.layout == TIK_KV_CONTIGUOUS) return sequence * kv.sequence_stride + token * kv.token_stride;
    return kv.page_table[sequence * kv.page_table_stride + token / kv.page_size] * kv.page_stride +
           token % kv.page_size * kv.token_stride;
  }

  void attend(tik_attention_args const* args, int sequence, long row, int position, int head) {
    tik_attention_shape const& shape = args->shape;
    tik_bf16 const* const query = args->queries + row * args->query_token_stride + head * args->query_head_stride;
    long const kv_head = head / (shape.query_heads / shape.kv_heads) * args->kv.head_stride;
    float maximum = -__builtin_inff(), sum = 0, output[128] = {};
    for (int token = 0; token <= position; ++token) {
      long const at = element(args, sequence, token) + kv_head;
      float score = 0;
      for (int d = 0; d < shape.head_dim; ++d) score += wide(query[d]) * wide(args->kv.keys[at + d]);
      score *= @scale@;
      float const larger = score > maximum ? score : maximum;
      float const factor = expf(maximum - larger), weight = expf(score - larger);
      sum = sum * factor + weight;
      for (int d = 0; d < shape.head_dim; ++d) output[d] = output[d] * factor + weight * wide(args->kv.values[at + d]);
      maximum = larger;
    }
    tik_bf16* const out = args->out + row * args->out_token_stride + head * args->out_head_stride;
    for (int d = 0; d < shape.head_dim; ++d) out[d] = narrow(sum > 0 ? output[d] / sum : 0);
    if (args->lse != nullptr) args->lse[row * shape.query_heads + head] = sum > 0 ? maximum + logf(sum) : -__builtin_inff();
  }

  tik_status run(tik_attention_args const* args, int entry) {
    if (tik_status const refused = refuse(args, entry); refused != TIK_OK) return refused;
    @before@
    for (int sequence = 0; sequence < args->batch; ++sequence) {
      int const begin = entry == 2 ? sequence : args->query_offsets[sequence];
      int const end = entry == 2 ? sequence + 1 : args->query_offsets[sequence + 1];
      int const length = entry == 0 ? end - begin : args->kv_lengths[sequence];
      for (int row = begin; row < end; ++row) {
        for (int head = 0; head < args->shape.query_heads; ++head) attend(args, sequence, row, length - (end - row), head);
      }
    }
    @after@
    return TIK_OK;
  }
  } // namespace

  extern "C" {
  int32_t tik_attention_abi_version(void) { return @version@; }
  int64_t tik_attention_workspace_bytes(tik_attention_shape const*, tik_attention_limits const*) { return 0; }
  tik_status tik_attention_full(tik_attention_args const* args) { return run(args, 0); }
  tik_status tik_attention_extend(tik_attention_args const* args) { return run(args, 1); }
  tik_status tik_attention_decode(tik_attention_args const* args) { return run(args, 2); }
  char const* tik_attention_last_error(void) { return sentence; }
  }
)candidate";

inline std::string filled(std::string text, std::string const& place, std::string const& value) {
  std::size_t const at = text.find("@" + place + "@");
  return text.replace(at, place.size() + 2, value);
}

inline void write_or_throw(std::filesystem::path const& file, std::string const& content) {
  if (Result<void> const written = write_file(file, content); !written) throw std::runtime_error(written.error().message);
}

// Writes the candidate into `folder`, which is made.
inline void write_candidate(std::filesystem::path const& folder, Hostility const& hostility) {
  std::filesystem::create_directories(folder);
  std::string source = plain_implementation;
  source = filled(source, "declarations", hostility.declarations);
  source = filled(source, "on_load", hostility.on_load);
  source = filled(source, "scale", hostility.scale);
  source = filled(source, "before", hostility.before);
  source = filled(source, "after", hostility.after);
  source = filled(source, "version", hostility.version);
  std::string const compiler =
      R"("g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-I", "{include}", "-o", "{output}", "plain.cpp")";
  std::string const command =
      hostility.build.empty() ? compiler : "\"sh\", \"-c\", '''" + hostility.build + "''', \"{output}\"";
  write_or_throw(folder / "plain.cpp", source);
  tik::test::SampleManifest const manifest{
      .description = "one plain file", .files = "full = []\ndecode = []\nshared = [\"plain.cpp\"]\n", .command = command};
  write_or_throw(folder / "implementation.toml", manifest.text());
}

// A small specification; `run_seconds` and `build_seconds` are its limits.
inline std::string small_specification(double run_seconds, double build_seconds) {
  return R"toml(
schema = 1
name = "small"
operator = "attention"
target = "cpu"

[shape]
query_heads = 4
kv_heads = 2
head_dim = 64

[[workloads]]
id = "full-64"
entry_point = "full"
batch = 1
tokens = 64
layout = "packed"
cache = "warm"

[[workloads]]
id = "decode-100x2"
entry_point = "decode"
batch = 2
tokens = 100
layout = "paged"
page_size = 16
cache = "cold"

[checks]
seed = 7
prompts = [1, 13]
responses = [3]
batches = [1, 2]
page_sizes = [5]
query_heads_per_kv = [3]
cuts = 1
repeats = 2
accuracy_max_error = 0.005
lse_max_error = 0.002
accuracy_distributions = ["normal", "dominant-key"]

[measurement]
rounds = 3
max_rounds = 3
warmup = 1
pin_cpu = true
min_round_us = 100

[stopping]
patience = 5

[limits.build]
seconds = )toml" +
         std::to_string(build_seconds) + R"toml(
memory_mb = 1024
log_kb = 64
processes = 24
file_mb = 32

[limits.run]
seconds = )toml" +
         std::to_string(run_seconds) + R"toml(
memory_mb = 512
log_kb = 64
)toml";
}

} // namespace tik::evaluator
