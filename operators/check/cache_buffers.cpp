#include "operators/check/cache_buffers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "operators/check/source.h"

namespace tik::operators::check {
namespace {

constexpr int spare_pages = 3;
constexpr float epsilon = 1e-6f;

template <typename Number>
Allocation uploaded(Device& device, std::vector<Number> const& numbers) {
  Allocation memory(device, numbers.size() * sizeof(Number));
  device.upload(memory.memory(), numbers.data(), memory.bytes());
  return memory;
}

std::vector<tik_bf16> random_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<tik_bf16> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = to_bf16(near_normal(mix(seed) + i));
  return numbers;
}

// `count` of the numbers below `end`, in random order.
std::vector<int> choose(int count, int end, Random& random) {
  std::vector<int> numbers(end);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int i = end; i > 1; --i) std::swap(numbers[i - 1], numbers[random.between(0, i - 1)]);
  numbers.resize(count);
  return numbers;
}

} // namespace

std::string describe(CacheShape const& shape) {
  return std::to_string(shape.query_heads) + "/" + std::to_string(shape.kv_heads) + "x" + std::to_string(shape.head_dim) +
         (shape.norm ? " with QK-norm" : "");
}

std::string describe(CacheLayout const& layout) {
  std::string text = layout.page_size == 0 ? "contiguous" : "pages of " + std::to_string(layout.page_size);
  if (layout.heads_first) text += ", heads first";
  if (layout.gap > 0) text += ", gap " + std::to_string(layout.gap);
  return text;
}

CacheBuffers::CacheBuffers(Device& device, CacheShape const& shape, CacheLayout const& layout, int tokens, int batch,
                           int length, bool decode, std::uint64_t seed)
    : device_(device), shape_(shape), layout_(layout), tokens_(tokens), batch_(batch), length_(length), decode_(decode) {
  Random random(seed);
  int const page = layout.page_size == 0 ? length : layout.page_size;
  pages_a_sequence_ = (length + page - 1) / page;
  page_count_ = batch * pages_a_sequence_ + (layout.page_size > 0 ? spare_pages : 0);
  std::vector<int> const pages = choose(batch * pages_a_sequence_, page_count_, random);

  std::vector<std::int32_t> positions(tokens), sequences(tokens);
  std::vector<int> const places = choose(tokens, batch * length, random);
  for (int token = 0; token < tokens; ++token) {
    sequences[token] = decode ? token : places[token] / length;
    positions[token] = decode ? random.between(0, length - 1) : places[token] % length;
    if (random.next() % 9 == 0) positions[token] = -1;
  }
  std::size_t const query_row = std::size_t(shape.query_heads) * shape.head_dim + layout.gap;
  std::size_t const kv_row = std::size_t(shape.kv_heads) * shape.head_dim + layout.gap;
  queries_ = uploaded(device, random_numbers(tokens * query_row, seed + 1));
  keys_ = uploaded(device, random_numbers(tokens * kv_row, seed + 2));
  values_ = uploaded(device, random_numbers(tokens * kv_row, seed + 3));
  query_weight_ = uploaded(device, random_numbers(shape.head_dim, seed + 4));
  key_weight_ = uploaded(device, random_numbers(shape.head_dim, seed + 5));
  std::vector<float> table(std::size_t(table_positions) * shape.head_dim); // any numbers: bits are compared, not angles
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = near_normal(mix(seed + 7) + i);
  table_ = uploaded(device, table);
  positions_ = uploaded(device, positions);
  sequences_ = uploaded(device, sequences);
  page_table_ = uploaded(device, std::vector<std::int32_t>(pages.begin(), pages.end()));
  std::size_t const cache_elements = std::size_t(page_count_) * page * kv_row;
  std::vector<tik_bf16> const before = random_numbers(cache_elements, seed + 6);
  cache_before_.resize(cache_elements * 2);
  std::memcpy(cache_before_.data(), before.data(), cache_before_.size());
  cache_keys_ = Allocation(device, cache_before_.size());
  cache_values_ = Allocation(device, cache_before_.size());
  queries_out_ = Allocation(device, queries_.bytes());
  rotated_keys_ = Allocation(device, keys_.bytes());
}

tik_kv_target CacheBuffers::target() const {
  std::int64_t const page = layout_.page_size == 0 ? length_ : layout_.page_size;
  std::int64_t const row = std::int64_t{shape_.kv_heads} * shape_.head_dim + layout_.gap;
  tik_kv_target target{};
  target.kv.layout = layout_.page_size == 0 ? TIK_KV_CONTIGUOUS : TIK_KV_PAGED;
  target.kv.page_size = layout_.page_size;
  target.kv.keys = static_cast<tik_bf16 const*>(cache_keys_.memory());
  target.kv.values = static_cast<tik_bf16 const*>(cache_values_.memory());
  target.kv.sequence_stride = page * row;
  target.kv.page_stride = page * row;
  target.kv.token_stride = layout_.heads_first ? shape_.head_dim : row;
  target.kv.head_stride = layout_.heads_first ? page * shape_.head_dim : shape_.head_dim;
  target.kv.page_table = static_cast<std::int32_t const*>(page_table_.memory());
  target.kv.page_table_stride = pages_a_sequence_;
  target.kv.page_count = page_count_;
  target.batch = batch_;
  target.kv_length = length_;
  target.settled = tokens_ % 2; // never shows
  target.sequences = decode_ ? nullptr : static_cast<std::int32_t const*>(sequences_.memory());
  target.positions = static_cast<std::int32_t const*>(positions_.memory());
  return target;
}

void CacheBuffers::require(tik_status status) const {
  if (status != TIK_OK) throw std::runtime_error(std::string("refused: ") + device_.functions().last_error());
}

void CacheBuffers::reset() {
  cache_keys_.upload(cache_before_);
  cache_values_.upload(cache_before_);
  queries_out_.poison();
  rotated_keys_.poison();
}

CacheImage CacheBuffers::image() const { return {cache_keys_.download(), cache_values_.download(), queries_out_.download()}; }

CacheImage CacheBuffers::run_fused() {
  reset();
  std::int64_t const query_stride = std::int64_t{shape_.query_heads} * shape_.head_dim + layout_.gap;
  std::int64_t const kv_stride = std::int64_t{shape_.kv_heads} * shape_.head_dim + layout_.gap;
  tik_qk_norm_rope_kv_write_args args{};
  args.struct_bytes = sizeof args;
  args.tokens = tokens_;
  args.query_heads = shape_.query_heads;
  args.kv_heads = shape_.kv_heads;
  args.head_dim = shape_.head_dim;
  args.epsilon = epsilon;
  args.queries = {static_cast<tik_bf16 const*>(queries_.memory()), query_stride, shape_.head_dim};
  args.keys = {static_cast<tik_bf16 const*>(keys_.memory()), kv_stride, shape_.head_dim};
  args.values = {static_cast<tik_bf16 const*>(values_.memory()), kv_stride, shape_.head_dim};
  args.query_weight = shape_.norm ? static_cast<tik_bf16 const*>(query_weight_.memory()) : nullptr;
  args.key_weight = shape_.norm ? static_cast<tik_bf16 const*>(key_weight_.memory()) : nullptr;
  args.table_positions = table_positions;
  args.table = static_cast<float const*>(table_.memory());
  args.queries_out = {static_cast<tik_bf16*>(queries_out_.memory()), query_stride, shape_.head_dim};
  args.target = target();
  require(device_.functions().qk_norm_rope_kv_write(&args));
  return image();
}

CacheImage CacheBuffers::run_separate() {
  reset();
  std::int64_t const query_stride = std::int64_t{shape_.query_heads} * shape_.head_dim + layout_.gap;
  std::int64_t const kv_stride = std::int64_t{shape_.kv_heads} * shape_.head_dim + layout_.gap;
  Functions const& functions = device_.functions();
  tik_mutable_rows const queries_out{static_cast<tik_bf16*>(queries_out_.memory()), query_stride, shape_.head_dim};
  tik_mutable_rows const keys_out{static_cast<tik_bf16*>(rotated_keys_.memory()), kv_stride, shape_.head_dim};
  tik_rows queries{static_cast<tik_bf16 const*>(queries_.memory()), query_stride, shape_.head_dim};
  tik_rows keys{static_cast<tik_bf16 const*>(keys_.memory()), kv_stride, shape_.head_dim};
  Allocation normalized_queries, normalized_keys; // elsewhere: of padding nothing is written where the outputs are
  if (shape_.norm) {
    normalized_queries = Allocation(device_, queries_.bytes());
    normalized_keys = Allocation(device_, keys_.bytes());
    auto const normalize = [&](tik_rows& rows, int heads, Allocation const& weight, Allocation const& to) {
      tik_rms_norm_args args{};
      args.struct_bytes = sizeof args;
      args.tokens = tokens_;
      args.heads = heads;
      args.columns = shape_.head_dim;
      args.epsilon = epsilon;
      args.x = rows;
      args.weight = static_cast<tik_bf16 const*>(weight.memory());
      args.out = {static_cast<tik_bf16*>(to.memory()), rows.token_stride, rows.head_stride};
      require(functions.rms_norm(&args));
      rows.data = args.out.data;
    };
    normalize(queries, shape_.query_heads, query_weight_, normalized_queries);
    normalize(keys, shape_.kv_heads, key_weight_, normalized_keys);
  }
  tik_rotary_args rotary{};
  rotary.struct_bytes = sizeof rotary;
  rotary.tokens = tokens_;
  rotary.query_heads = shape_.query_heads;
  rotary.key_heads = shape_.kv_heads;
  rotary.head_dim = shape_.head_dim;
  rotary.settled = tokens_ % 2;
  rotary.table_positions = table_positions;
  rotary.table = static_cast<float const*>(table_.memory());
  rotary.positions = static_cast<std::int32_t const*>(positions_.memory());
  rotary.queries = queries;
  rotary.keys = keys;
  rotary.queries_out = queries_out;
  rotary.keys_out = keys_out;
  require(functions.rotary(&rotary));
  tik_kv_write_args write{};
  write.struct_bytes = sizeof write;
  write.tokens = tokens_;
  write.kv_heads = shape_.kv_heads;
  write.head_dim = shape_.head_dim;
  write.keys = {keys_out.data, kv_stride, shape_.head_dim};
  write.values = {static_cast<tik_bf16 const*>(values_.memory()), kv_stride, shape_.head_dim};
  write.target = target();
  require(functions.kv_write(&write));
  return image();
}

} // namespace tik::operators::check
