#include "operators/check/model/attention_cases.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "operators/attention/reference.h"
#include "operators/check/source.h"

namespace tik::operators::check {
namespace {

constexpr std::uint64_t query_seed = 61, key_seed = 62, value_seed = 63;
constexpr int page_size = 16;
constexpr int with_reference = 400;          // tokens up to which float64 is computed
constexpr double largest_row_error = 0x1p-6; // weights and outputs are each rounded to bfloat16 (docs/numerics.md)

// out and lse of some query tokens as bytes, [tokens, query_heads, ...].
struct Rows {
  std::vector<unsigned char> out, lse;
};

class Attention {
 public:
  Attention(Device& device, AttentionFunctions const& functions, ModelShape const& shape, int tokens, std::uint64_t seed)
      : device_(device),
        functions_(functions),
        tokens_(tokens),
        shape_{shape.query_heads, shape.kv_heads, shape.head_dim, 1 / std::sqrt(static_cast<float>(shape.head_dim))} {
    queries_ = rows(shape_.query_heads, query_seed ^ seed);
    keys_ = rows(shape_.kv_heads, key_seed ^ seed);
    values_ = rows(shape_.kv_heads, value_seed ^ seed);
    device_queries_ = uploaded(queries_);
    device_keys_ = uploaded(keys_);
    device_values_ = uploaded(values_);
  }

  // Packed sequences that begin at `offsets` (one more: the end of the last).
  Rows full(std::vector<std::int32_t> const& offsets) {
    tik_attention_args args = packed(offsets);
    Allocation const device_offsets = uploaded(offsets);
    args.queries = static_cast<tik_bf16 const*>(device_queries_.memory());
    args.kv.keys = static_cast<tik_bf16 const*>(device_keys_.memory());
    args.kv.values = static_cast<tik_bf16 const*>(device_values_.memory());
    args.query_offsets = static_cast<std::int32_t const*>(device_offsets.memory());
    return call(functions_.full, args, offsets.back());
  }

  // Tokens begin.. of the one sequence as a chunk at its end.
  Rows extend(int begin, bool paged) {
    std::vector<std::int32_t> const offsets{0, tokens_ - begin};
    Allocation const device_offsets = uploaded(offsets), lengths = uploaded(std::vector<std::int32_t>{tokens_});
    Allocation const pages = page_table(1);
    tik_attention_args args = cached(paged, pages, 1, offsets.back());
    args.limits.query_length = offsets.back();
    args.queries = static_cast<tik_bf16 const*>(device_queries_.memory()) + begin * args.query_token_stride;
    args.query_offsets = static_cast<std::int32_t const*>(device_offsets.memory());
    args.kv_lengths = static_cast<std::int32_t const*>(lengths.memory());
    return call(functions_.extend, args, offsets.back());
  }

  // The tokens at `positions`, each as the last of a sequence of its own that shares the pages of the others.
  Rows decode(std::vector<int> const& positions) {
    auto const batch = static_cast<int>(positions.size());
    std::vector<std::int32_t> lengths;
    std::vector<tik_bf16> queries;
    std::size_t const row = std::size_t(shape_.query_heads) * shape_.head_dim;
    for (int const position : positions) {
      lengths.push_back(position + 1);
      queries.insert(queries.end(), queries_.begin() + std::ptrdiff_t(position * row),
                     queries_.begin() + std::ptrdiff_t((position + 1) * row));
    }
    Allocation const device_lengths = uploaded(lengths), device_queries = uploaded(queries), pages = page_table(batch);
    tik_attention_args args = cached(true, pages, batch, batch);
    args.limits.query_length = 1;
    args.queries = static_cast<tik_bf16 const*>(device_queries.memory());
    args.kv_lengths = static_cast<std::int32_t const*>(device_lengths.memory());
    return call(functions_.decode, args, batch);
  }

  // What float64 says of one whole sequence.
  attention::Reference reference() const {
    std::vector<std::int32_t> const offsets{0, tokens_};
    tik_attention_args args = packed(offsets);
    args.queries = queries_.data();
    args.kv.keys = keys_.data();
    args.kv.values = values_.data();
    args.query_offsets = offsets.data();
    attention::Reference reference;
    attention::compute_reference(attention::Entry::full, args, reference);
    return reference;
  }

 private:
  std::vector<tik_bf16> rows(int heads, std::uint64_t seed) const {
    std::size_t const row = std::size_t(heads) * shape_.head_dim;
    std::vector<tik_bf16> all(tokens_ * row);
    for (int token = 0; token < tokens_; ++token) write_row(&all[token * row], static_cast<int>(row), seed, token);
    return all;
  }

  template <typename Number>
  Allocation uploaded(std::vector<Number> const& numbers) const {
    Allocation memory(device_, numbers.size() * sizeof(Number));
    device_.upload(memory.memory(), numbers.data(), memory.bytes());
    return memory;
  }

  // The sequence's pages in order, for each of `batch` sequences.
  Allocation page_table(int batch) const {
    std::vector<std::int32_t> table;
    for (int sequence = 0; sequence < batch; ++sequence) {
      for (int page = 0; page < pages(); ++page) table.push_back(page);
    }
    return uploaded(table);
  }
  int pages() const { return (tokens_ + page_size - 1) / page_size; }

  tik_attention_args common(int batch, int query_tokens) const {
    tik_attention_args args{};
    args.struct_bytes = sizeof args;
    args.batch = batch;
    args.shape = shape_;
    args.limits = {batch, query_tokens, query_tokens, tokens_};
    args.query_token_stride = args.out_token_stride = std::int64_t{shape_.query_heads} * shape_.head_dim;
    args.query_head_stride = args.out_head_stride = shape_.head_dim;
    args.kv.token_stride = std::int64_t{shape_.kv_heads} * shape_.head_dim;
    args.kv.head_stride = shape_.head_dim;
    return args;
  }

  tik_attention_args packed(std::vector<std::int32_t> const& offsets) const {
    tik_attention_args args = common(static_cast<int>(offsets.size()) - 1, offsets.back());
    args.limits.query_length = 0;
    for (std::size_t i = 1; i < offsets.size(); ++i)
      args.limits.query_length = std::max(args.limits.query_length, offsets[i] - offsets[i - 1]);
    args.limits.kv_length = args.limits.query_length;
    args.kv.layout = TIK_KV_PACKED;
    return args;
  }

  tik_attention_args cached(bool paged, Allocation const& table, int batch, int query_tokens) const {
    tik_attention_args args = common(batch, query_tokens);
    args.kv.layout = paged ? TIK_KV_PAGED : TIK_KV_CONTIGUOUS;
    args.kv.keys = static_cast<tik_bf16 const*>(device_keys_.memory());
    args.kv.values = static_cast<tik_bf16 const*>(device_values_.memory());
    args.kv.sequence_stride = tokens_ * args.kv.token_stride;
    args.kv.page_size = page_size;
    args.kv.page_stride = page_size * args.kv.token_stride;
    args.kv.page_table = static_cast<std::int32_t const*>(table.memory());
    args.kv.page_table_stride = pages();
    args.kv.page_count = pages();
    return args;
  }

  Rows call(tik_status (*function)(tik_attention_args const*), tik_attention_args args, int query_tokens) {
    std::size_t const heads = std::size_t(query_tokens) * shape_.query_heads;
    Allocation out(device_, heads * shape_.head_dim * sizeof(tik_bf16)), lse(device_, heads * sizeof(float));
    out.poison();
    lse.poison();
    args.out = static_cast<tik_bf16*>(out.memory());
    args.lse = static_cast<float*>(lse.memory());
    std::int64_t const bytes = functions_.workspace_bytes(&args.shape, &args.limits);
    if (bytes < 0) throw std::runtime_error(std::string("attention: ") + functions_.last_error());
    Allocation workspace;
    if (bytes > 0) workspace = uploaded(std::vector<unsigned char>(static_cast<std::size_t>(bytes)));
    args.workspace = workspace.memory();
    args.workspace_bytes = workspace.bytes();
    if (function(&args) != TIK_OK) throw std::runtime_error(std::string("attention: ") + functions_.last_error());
    return {out.download(), lse.download()};
  }

  Device& device_;
  AttentionFunctions const& functions_;
  int tokens_;
  tik_attention_shape shape_;
  std::vector<tik_bf16> queries_, keys_, values_;
  Allocation device_queries_, device_keys_, device_values_;
};

// How many of the first rows of `part` differ from those of `whole`, of `tokens` tokens, at `positions`; empty when none does.
std::string difference(Rows const& whole, int tokens, Rows const& part, std::vector<int> const& positions) {
  std::size_t const out_row = whole.out.size() / tokens, lse_row = whole.lse.size() / tokens;
  int differing = 0, first = -1;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    auto const position = static_cast<std::size_t>(positions[i]);
    if (std::memcmp(&whole.out[position * out_row], &part.out[i * out_row], out_row) == 0 &&
        std::memcmp(&whole.lse[position * lse_row], &part.lse[i * lse_row], lse_row) == 0)
      continue;
    if (differing++ == 0) first = positions[i];
  }
  if (differing == 0) return "";
  return std::to_string(differing) + " of " + std::to_string(positions.size()) + " tokens differ, the first at position " +
         std::to_string(first);
}

std::vector<int> range(int begin, int end) {
  std::vector<int> numbers;
  for (int i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

double largest_error(Rows const& rows, std::vector<double> const& exact, int head_dim) {
  double worst = 0;
  std::size_t const row = std::size_t(head_dim);
  for (std::size_t first = 0; first < exact.size(); first += row) {
    std::vector<unsigned char> const bytes(rows.out.begin() + std::ptrdiff_t(first * 2),
                                           rows.out.begin() + std::ptrdiff_t((first + row) * 2));
    worst = std::max(worst, row_error(Element::bf16, bytes,
                                      {exact.begin() + std::ptrdiff_t(first), exact.begin() + std::ptrdiff_t(first + row)}));
  }
  return worst;
}

void check_length(Device& device, AttentionFunctions const& functions, ModelShape const& shape, int tokens, int decoded,
                  Random& random, Results& results) {
  Attention attention(device, functions, shape, tokens, random.next());
  std::string const label = std::to_string(tokens) + " tokens, ";
  Rows const whole = attention.full({0, tokens});
  auto const record = [&](std::string const& what, Rows const& part, std::vector<int> const& positions) {
    std::string const problem = difference(whole, tokens, part, positions);
    results.record(problem.empty(), label + what, problem);
  };
  record("full again", attention.full({0, tokens}), range(0, tokens));
  int const prompt = random.between(1, tokens);
  record("the first " + std::to_string(prompt) + " alone", attention.full({0, prompt}), range(0, prompt));
  if (prompt < tokens) record("with a neighbour", attention.full({0, prompt, tokens}), range(0, prompt));
  for (bool const paged : {false, true}) {
    int const begin = random.between(0, tokens - 1);
    record(std::string("extend from ") + std::to_string(begin) + (paged ? ", pages" : ", contiguous"),
           attention.extend(begin, paged), range(begin, tokens));
  }
  for (int first = 0; first < tokens; first += decoded) {
    std::vector<int> const positions = range(first, std::min(first + decoded, tokens));
    record("decode of " + std::to_string(positions.size()) + " positions from " + std::to_string(first),
           attention.decode(positions), positions);
  }
  for (int const position : {0, tokens / 2, tokens - 1})
    record("decode of position " + std::to_string(position) + " alone", attention.decode({position}), {position});
  if (tokens <= with_reference)
    results.record_error(largest_error(whole, attention.reference().out, shape.head_dim), largest_row_error);
}

} // namespace

AttentionFunctions host_attention() {
  return {tik_attention_full, tik_attention_extend, tik_attention_decode, tik_attention_workspace_bytes,
          tik_attention_last_error};
}

void check_attention(Device& device, AttentionFunctions const& functions, ModelShape const& shape, int longest,
                     CaseOptions const& options, Results& results) {
  results.begin("attention", std::to_string(shape.query_heads) + "/" + std::to_string(shape.kv_heads) + "x" +
                                 std::to_string(shape.head_dim));
  std::vector<int> lengths{20};
  if (options.extent == Extent::brief) lengths = {1, 40, 150, 300, 1100};
  if (options.extent == Extent::thorough) lengths = {1, 40, 127, 128, 129, 300, 700, 1023, 1025, 1100};
  Random random(options.seed + 200);
  for (int const tokens : lengths) {
    if (tokens <= longest) check_length(device, functions, shape, tokens, 48, random, results);
  }
}

} // namespace tik::operators::check
