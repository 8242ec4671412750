#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/gpu/call.h"

namespace tik::gpu_suite {
namespace {

constexpr int padding_rows = 3;
constexpr int spare_pages = 3;
constexpr int spare_table_entries = 2;
constexpr int32_t unused_page = INT32_MAX; // reading through it would fault

int pages_of(int tokens, int page_size) { return (tokens + page_size - 1) / page_size; }

// Strides of [rows, heads, head_dim] under a layout.
struct Strides {
  int64_t token;
  int64_t head;
  int64_t total; // elements of `rows` rows
};
Strides make_strides(Layout const& layout, int64_t rows, int heads, int head_dim) {
  if (layout.heads_first) {
    int64_t const head = rows * head_dim + layout.gap;
    return {head_dim, head, head * heads};
  }
  int64_t const token = int64_t{heads} * head_dim + layout.gap;
  return {token, head_dim, token * rows};
}

std::vector<int64_t> row_offsets(int rows, int64_t stride) {
  std::vector<int64_t> offsets(rows);
  for (int row = 0; row < rows; ++row) offsets[row] = row * stride;
  return offsets;
}

} // namespace

std::string describe(Layout const& layout) {
  std::string text = layout.page_size == 0 ? "contiguous" : "page " + std::to_string(layout.page_size);
  if (layout.heads_first) text += " heads-first";
  if (layout.gap > 0) text += " gap " + std::to_string(layout.gap);
  if (layout.share) text += " shared";
  return text;
}

tik_attention_shape make_shape(int query_heads, int kv_heads, int head_dim) {
  return {query_heads, kv_heads, head_dim, 1 / std::sqrt(static_cast<float>(head_dim))};
}

std::string describe(tik_attention_shape const& shape) {
  return std::to_string(shape.query_heads) + "/" + std::to_string(shape.kv_heads) + "x" + std::to_string(shape.head_dim);
}

void Rows::append(Rows const& more) {
  heads = more.heads;
  head_dim = more.head_dim;
  tokens += more.tokens;
  out.insert(out.end(), more.out.begin(), more.out.end());
  lse.insert(lse.end(), more.lse.begin(), more.lse.end());
}

tik_attention_limits limits_of(std::vector<Piece> const& pieces) {
  tik_attention_limits limits{static_cast<int32_t>(pieces.size()), 0, 1, 1};
  for (Piece const& piece : pieces) {
    limits.query_tokens += std::max(piece.end - piece.begin, 1);
    limits.query_length = std::max(limits.query_length, piece.end - piece.begin);
    limits.kv_length = std::max(limits.kv_length, piece.end);
  }
  return limits;
}

Call::Call(CallSetup setup) : setup_(std::move(setup)), rows_(setup_.limits.query_tokens + padding_rows) {
  tik_attention_shape const& shape = setup_.shape;
  Strides const row = make_strides(setup_.layout, rows_, shape.query_heads, shape.head_dim);
  queries_ = Buffer<tik_bf16>(row.total);
  out_ = Buffer<tik_bf16>(row.total);
  lse_ = Buffer<float>(int64_t{rows_} * shape.query_heads);
  query_row_offsets_ = Buffer<int64_t>(row_offsets(rows_, row.token));
  query_offsets_ = Buffer<int32_t>(setup_.batch + 1);
  kv_lengths_ = Buffer<int32_t>(setup_.batch);

  args_.struct_bytes = sizeof(args_);
  args_.batch = setup_.batch;
  args_.shape = shape;
  args_.limits = setup_.limits;
  args_.queries = queries_.data();
  args_.query_token_stride = row.token;
  args_.query_head_stride = row.head;
  args_.query_offsets = setup_.entry == Entry::decode ? nullptr : query_offsets_.data();
  args_.kv_lengths = setup_.entry == Entry::full ? nullptr : kv_lengths_.data();
  args_.out = out_.data();
  args_.out_token_stride = row.token;
  args_.out_head_stride = row.head;
  args_.lse = lse_.data();
  place_cache();

  int64_t const workspace = tik_attention_workspace_bytes(&shape, &setup_.limits);
  if (workspace < 0) throw std::runtime_error(tik_attention_last_error());
  workspace_ = Buffer<unsigned char>(workspace);
  workspace_.zero();
  args_.workspace = workspace_.data();
  args_.workspace_bytes = workspace;
}

void Call::place_cache() {
  tik_attention_shape const& shape = setup_.shape;
  Layout const& layout = setup_.layout;
  int const capacity = setup_.limits.kv_length;
  tik_kv_view& kv = args_.kv;
  int64_t elements = 0;
  if (setup_.entry == Entry::full) {
    Strides const row = make_strides(layout, rows_, shape.kv_heads, shape.head_dim);
    kv.layout = TIK_KV_PACKED;
    kv.token_stride = row.token;
    kv.head_stride = row.head;
    kv_row_offsets_ = Buffer<int64_t>(row_offsets(rows_, row.token));
    elements = row.total;
  } else {
    int const rows = layout.page_size == 0 ? capacity : layout.page_size;
    Strides const row = make_strides(layout, rows, shape.kv_heads, shape.head_dim);
    int const blocks = pages_of(capacity, rows); // a contiguous sequence is one block of all its rows
    int const sequences = layout.share ? 1 : setup_.batch;
    int const count = layout.page_size == 0 ? sequences : sequences * blocks + spare_pages;
    kv.layout = layout.page_size == 0 ? TIK_KV_CONTIGUOUS : TIK_KV_PAGED;
    kv.token_stride = row.token;
    kv.head_stride = row.head;
    kv.sequence_stride = layout.page_size == 0 ? row.total : 0;
    kv.page_size = layout.page_size;
    kv.page_stride = row.total;
    kv.page_count = count;
    elements = row.total * count;
    pages_.resize(count);
    std::iota(pages_.begin(), pages_.end(), 0);
    if (layout.page_size > 0) {
      kv.page_table_stride = blocks + spare_table_entries;
      table_.assign(int64_t{setup_.batch} * kv.page_table_stride, unused_page);
      page_table_ = Buffer<int32_t>(table_);
      kv.page_table = page_table_.data();
      map_pages(layout.map_seed);
    } else {
      write_cache_offsets();
    }
  }
  keys_ = Buffer<tik_bf16>(elements);
  values_ = Buffer<tik_bf16>(elements);
  kv.keys = keys_.data();
  kv.values = values_.data();
}

void Call::map_pages(uint64_t seed) {
  Random random(seed);
  for (int i = static_cast<int>(pages_.size()) - 1; i > 0; --i) std::swap(pages_[i], pages_[random.between(0, i)]);
  write_cache_offsets();
}

void Call::write_cache_offsets() {
  int const capacity = setup_.limits.kv_length;
  int const rows = setup_.layout.page_size == 0 ? capacity : setup_.layout.page_size;
  int const blocks = pages_of(capacity, rows);
  std::vector<int64_t> offsets(int64_t{setup_.layout.share ? 1 : setup_.batch} * capacity);
  for (int64_t i = 0; i < static_cast<int64_t>(offsets.size()); ++i) {
    int64_t const token = i % capacity;
    offsets[i] = pages_[i / capacity * blocks + token / rows] * args_.kv.page_stride + token % rows * args_.kv.token_stride;
  }
  cache_offsets_ = Buffer<int64_t>(offsets);
}

Placement Call::row_placement(tik_bf16* base, std::size_t sequence, int heads) const {
  bool const query = heads == setup_.shape.query_heads && base == queries_.data();
  int64_t const* const offsets = query ? query_row_offsets_.data() : kv_row_offsets_.data();
  int64_t const head_stride = query ? args_.query_head_stride : args_.kv.head_stride;
  return {base, offsets + first_rows_[sequence] - pieces_[sequence].begin, head_stride, heads, setup_.shape.head_dim};
}

Placement Call::cache_placement(tik_bf16* base, std::size_t sequence) const {
  int64_t const storage = setup_.layout.share ? 0 : static_cast<int64_t>(sequence);
  return {base, cache_offsets_.data() + storage * setup_.limits.kv_length, args_.kv.head_stride, setup_.shape.kv_heads,
          setup_.shape.head_dim};
}

void Call::load(std::vector<Piece> const& pieces, Fill fill) {
  if (static_cast<int>(pieces.size()) != setup_.batch) throw std::logic_error("one piece for each sequence of the batch");
  pieces_ = pieces;
  first_rows_.clear();
  std::vector<int32_t> offsets{0};
  std::vector<int32_t> lengths;
  for (Piece const& piece : pieces) {
    first_rows_.push_back(setup_.entry == Entry::decode ? static_cast<int>(first_rows_.size()) : offsets.back());
    offsets.push_back(offsets.back() + piece.end - piece.begin);
    lengths.push_back(piece.end);
  }
  query_offsets_.upload(offsets);
  kv_lengths_.upload(lengths);
  poison_output();
  if (fill == Fill::fresh) {
    poison(keys_);
    poison(values_);
    std::fill(table_.begin(), table_.end(), unused_page);
  }
  write_rows(pieces);
  if (setup_.entry != Entry::full) write_cache(pieces, fill);
  checksum_ = input_checksum();
}

void Call::write_rows(std::vector<Piece> const& pieces) {
  poison(queries_);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece const& piece = pieces[i];
    write_tokens(piece.source, Tensor::query, row_placement(queries_.data(), i, setup_.shape.query_heads), piece.begin,
                 piece.end);
    if (setup_.entry != Entry::full) continue;
    write_tokens(piece.source, Tensor::key, row_placement(keys_.data(), i, setup_.shape.kv_heads), piece.begin, piece.end);
    write_tokens(piece.source, Tensor::value, row_placement(values_.data(), i, setup_.shape.kv_heads), piece.begin, piece.end);
  }
}

void Call::write_cache(std::vector<Piece> const& pieces, Fill fill) {
  int const page_size = setup_.layout.page_size;
  int const stride = args_.kv.page_table_stride;
  int written = 0; // tokens of the shared storage that are there already
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece const& piece = pieces[i];
    int begin = fill == Fill::fresh ? 0 : piece.begin;
    if (setup_.layout.share) begin = std::max(begin, written);
    write_tokens(piece.source, Tensor::key, cache_placement(keys_.data(), i), begin, piece.end);
    write_tokens(piece.source, Tensor::value, cache_placement(values_.data(), i), begin, piece.end);
    written = std::max(written, piece.end);
    if (page_size == 0) continue;
    int const first_block = setup_.layout.share ? 0 : static_cast<int>(i) * (stride - spare_table_entries);
    for (int page = 0; page < pages_of(piece.end, page_size); ++page) table_[i * stride + page] = pages_[first_block + page];
  }
  if (page_size > 0) page_table_.upload(table_);
}

void Call::poison_output() {
  poison(out_);
  poison(lse_);
}

tik_status Call::launch(cudaStream_t stream) {
  args_.stream = stream;
  if (setup_.kernel) return attention::sm90::run(setup_.entry, &args_, setup_.kernel);
  if (setup_.decode_variant) {
    require(attention::sm90::launch_decode_variant(args_, *setup_.decode_variant), "launching a variant of decode");
    return TIK_OK;
  }
  switch (setup_.entry) {
    case Entry::full:
      return tik_attention_full(&args_);
    case Entry::extend:
      return tik_attention_extend(&args_);
    case Entry::decode:
      return tik_attention_decode(&args_);
  }
  return TIK_INVALID_ARGUMENT;
}

uint64_t Call::input_checksum() const {
  Buffer<uint64_t> sum(1);
  sum.zero();
  auto const add = [&](auto const& buffer) { add_checksum(buffer.data(), buffer.bytes(), sum.data()); };
  add(queries_);
  add(keys_);
  add(values_);
  add(query_offsets_);
  add(kv_lengths_);
  add(page_table_);
  return sum.download()[0];
}

std::vector<Rows> Call::results(std::vector<std::string>& problems) {
  require(cudaDeviceSynchronize(), "running a call");
  if (input_checksum() != checksum_) problems.push_back("an input was changed");
  std::vector<uint16_t> out = out_.download();
  std::vector<float> const lse_values = lse_.download();
  std::vector<uint32_t> lse(lse_values.size());
  std::copy_n(reinterpret_cast<uint32_t const*>(lse_values.data()), lse.size(), lse.begin());

  int const heads = setup_.shape.query_heads;
  int const head_dim = setup_.shape.head_dim;
  std::vector<Rows> results;
  bool unwritten = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Rows rows{setup_.entry == Entry::decode ? 1 : pieces_[i].end - pieces_[i].begin, heads, head_dim, {}, {}};
    for (int token = 0; token < rows.tokens; ++token) {
      int64_t const row = first_rows_[i] + token;
      for (int head = 0; head < heads; ++head) {
        auto const at = out.begin() + row * args_.out_token_stride + head * args_.out_head_stride;
        rows.out.insert(rows.out.end(), at, at + head_dim);
        unwritten |= std::find(at, at + head_dim, poison_bits) != at + head_dim;
        std::fill(at, at + head_dim, poison_bits);
      }
      auto const at = lse.begin() + row * heads;
      rows.lse.insert(rows.lse.end(), at, at + heads);
      unwritten |= std::find(at, at + heads, ~0u) != at + heads;
      std::fill(at, at + heads, ~0u);
    }
    results.push_back(std::move(rows));
  }
  if (unwritten) problems.push_back("an output element was not written");
  bool const clean_out = std::all_of(out.begin(), out.end(), [](uint16_t bits) { return bits == poison_bits; });
  bool const clean_lse = std::all_of(lse.begin(), lse.end(), [](uint32_t bits) { return bits == ~0u; });
  if (!clean_out || !clean_lse) problems.push_back("memory outside the output rows was written");
  return results;
}

std::vector<Rows> run_call(CallSetup const& setup, std::vector<Piece> const& pieces, std::vector<std::string>& problems) {
  Call call(setup);
  call.load(pieces);
  if (call.launch() != TIK_OK) throw std::runtime_error(std::string("a good call was refused: ") + tik_attention_last_error());
  return call.results(problems);
}

} // namespace tik::gpu_suite
