#include "operators/attention/reference.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <thread>

namespace tik::attention {
namespace {

double to_double(tik_bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

// One query row: which sequence it belongs to and how many keys it sees.
struct QueryRow {
  int64_t row;
  int sequence;
  int64_t keys;
};

int64_t key_offset(tik_attention_args const& args, int sequence, int64_t token) {
  tik_kv_view const& kv = args.kv;
  switch (kv.layout) {
    case TIK_KV_PACKED:
      return (args.query_offsets[sequence] + token) * kv.token_stride;
    case TIK_KV_CONTIGUOUS:
      return sequence * kv.sequence_stride + token * kv.token_stride;
    default: {
      int64_t const page = kv.page_table[int64_t{sequence} * kv.page_table_stride + token / kv.page_size];
      return page * kv.page_stride + token % kv.page_size * kv.token_stride;
    }
  }
}

std::vector<QueryRow> list_rows(Entry entry, tik_attention_args const& args) {
  std::vector<QueryRow> rows;
  for (int b = 0; b < args.batch; ++b) {
    if (entry == Entry::decode) {
      rows.push_back({b, b, args.kv_lengths[b]});
      continue;
    }
    int64_t const first = args.query_offsets[b];
    int64_t const queries = args.query_offsets[b + 1] - first;
    int64_t const before = entry == Entry::full ? 0 : args.kv_lengths[b] - queries;
    for (int64_t i = 0; i < queries; ++i) rows.push_back({first + i, b, before + i + 1});
  }
  return rows;
}

// The keys and values of one sequence and key/value head as float64, [tokens, head_dim] each.
struct HeadCache {
  std::vector<double> keys, values;
};

void load_cache(tik_attention_args const& args, int sequence, int kv_head, int64_t tokens, HeadCache& cache) {
  int const dim = args.shape.head_dim;
  cache.keys.resize(tokens * dim);
  cache.values.resize(tokens * dim);
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t const offset = key_offset(args, sequence, t) + kv_head * args.kv.head_stride;
    for (int d = 0; d < dim; ++d) {
      cache.keys[t * dim + d] = to_double(args.kv.keys[offset + d]);
      cache.values[t * dim + d] = to_double(args.kv.values[offset + d]);
    }
  }
}

void attend_row(tik_attention_args const& args, QueryRow const& query_row, int head, HeadCache const& cache,
                std::vector<double>& weights, Reference& reference) {
  if (query_row.keys == 0) return;
  int const dim = args.shape.head_dim;
  tik_bf16 const* const stored = args.queries + query_row.row * args.query_token_stride + head * args.query_head_stride;
  std::vector<double> query(dim);
  std::transform(stored, stored + dim, query.begin(), to_double);
  weights.assign(query_row.keys, 0);
  for (int64_t j = 0; j < query_row.keys; ++j) {
    for (int d = 0; d < dim; ++d) weights[j] += query[d] * cache.keys[j * dim + d];
    weights[j] *= static_cast<double>(args.shape.softmax_scale);
  }
  double const maximum = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - maximum);
  int64_t const place = query_row.row * args.shape.query_heads + head;
  double* const out = reference.out.data() + place * dim;
  for (int64_t j = 0; j < query_row.keys; ++j) {
    for (int d = 0; d < dim; ++d) out[d] += weights[j] / sum * cache.values[j * dim + d];
  }
  reference.lse[place] = maximum + std::log(sum);
}

void attend_head(tik_attention_args const& args, std::vector<QueryRow> const& rows, int head, Reference& reference) {
  int const kv_head = head / (args.shape.query_heads / args.shape.kv_heads);
  HeadCache cache;
  std::vector<double> weights;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && rows[end].sequence == rows[begin].sequence) ++end;
    load_cache(args, rows[begin].sequence, kv_head, rows[end - 1].keys, cache);
    for (; begin < end; ++begin) attend_row(args, rows[begin], head, cache, weights, reference);
  }
}

} // namespace

std::optional<Refusal> compute_reference(Entry entry, tik_attention_args const& args, Reference& reference, int threads) {
  if (auto refusal = validate_shape(args.shape)) return refusal;
  int const heads = args.shape.query_heads;
  reference.rows = entry == Entry::decode ? args.batch : args.query_offsets[args.batch];
  reference.out.assign(reference.rows * heads * args.shape.head_dim, 0);
  reference.lse.assign(reference.rows * heads, -std::numeric_limits<double>::infinity());

  auto const rows = list_rows(entry, args);
  std::atomic<int> next_head = 0;
  auto const work = [&] {
    for (int head = next_head++; head < heads; head = next_head++) attend_head(args, rows, head, reference);
  };
  int const cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int const count = std::min(threads > 0 ? threads : cores, heads);
  std::vector<std::thread> pool;
  for (int i = 1; i < count; ++i) pool.emplace_back(work);
  work();
  for (auto& thread : pool) thread.join();
  return std::nullopt;
}

} // namespace tik::attention
