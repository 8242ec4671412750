#include "src/evaluator/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "src/evaluator/loaded_library.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t guard_bytes = 256;  // checked memory on both sides of a tensor
constexpr tik_bf16 unused_cache = 0xffff; // a NaN in bf16, a page or a token that does not exist as an integer
constexpr std::size_t workspace_alignment = 256;
constexpr std::size_t most_changes = 1024; // more than these, and everything is sent again

std::int64_t round_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

tl::unexpected<Failure> too_large() {
  return machine_failure({ErrorKind::machine, "The buffers of a check do not fit into the shared memory set aside for them."});
}

template <class T>
void point(T const*& pointer, Region region, std::size_t offset) {
  pointer = reinterpret_cast<T const*>(address_in(region, offset));
}
template <class T>
void point(T*& pointer, Region region, std::size_t offset) {
  pointer = reinterpret_cast<T*>(address_in(region, offset));
}

} // namespace

std::optional<std::size_t> Image::reserve(Part part, std::size_t bytes, std::size_t alignment, Random& random) {
  if (shape_.dense) alignment = part == Part::indices ? 256 : 4096;
  return arena_->place(part, std::max<std::size_t>(bytes, 1), alignment, random);
}

Checked<Image> Image::place(Arena& arena, Dataset const& dataset, CallShape const& shape, Random& random,
                            Image const* cache_of) {
  Image image(arena, shape);
  tik_attention_args& args = image.request_.args;
  image.request_.entry = shape.kind;
  args.struct_bytes = sizeof(tik_attention_args);
  args.batch = static_cast<int32_t>(shape.rows.size());
  args.shape = dataset.shape;
  int query_length = 1, kv_length = 1;
  for (Rows const& rows : shape.rows) {
    image.first_row_.push_back(image.total_rows_);
    image.total_rows_ += rows.count;
    query_length = std::max(query_length, rows.count);
    kv_length = std::max(kv_length, rows.first + rows.count);
  }
  int const slack = shape.dense ? 0 : random.between(0, 3);
  bool const decode = shape.kind == spec::WorkloadKind::decode;
  args.limits = {args.batch + slack, image.total_rows_ + slack, decode ? 1 : query_length + slack, kv_length + 2 * slack};
  args.limits.query_length = std::min(args.limits.query_length, args.limits.query_tokens);
  if (cache_of != nullptr) args.limits.kv_length = cache_of->request_.args.limits.kv_length;
  image.input_begin_ = arena.used(Part::values);
  if (auto placed = image.place_tensors(dataset, random); !placed) return tl::unexpected(std::move(placed.error()));
  if (cache_of != nullptr) {
    image.take_cache(*cache_of);
  } else if (auto placed = image.place_cache(dataset, random); !placed) {
    return tl::unexpected(std::move(placed.error()));
  }
  image.input_end_ = arena.used(Part::values);
  if (auto placed = image.place_outputs(random); !placed) return tl::unexpected(std::move(placed.error()));
  if (arena.session().gpu() && !arena.drawn()) {
    image.request_.transfer = {image.input_extent(), image.output_extent(), image.result_extent(), {}, 0, random.coin()};
    auto const list = arena.place(Part::indices, most_changes * sizeof(Extent), alignof(Extent), random);
    if (!list) return too_large();
    image.change_list_ = *list;
  }
  return image;
}

Checked<Image> Image::beside(Arena& arena, Random& random) const {
  Image image = *this;
  image.arena_ = &arena;
  image.request_.args.workspace = nullptr;
  if (auto placed = image.place_outputs(random); !placed) return tl::unexpected(std::move(placed.error()));
  return image;
}

void Image::take_cache(Image const& other) {
  request_.args.kv = other.request_.args.kv;
  page_table_ = other.page_table_;
  keys_ = other.keys_, values_ = other.values_, table_ = other.table_;
}

Checked<void> Image::place_tensors(Dataset const& dataset, Random& random) {
  tik_attention_args& args = request_.args;
  int64_t const pad = shape_.dense ? 0 : 8 * random.between(0, 2);
  args.query_head_stride = args.shape.head_dim + pad;
  args.query_token_stride = args.shape.query_heads * args.query_head_stride + pad;
  std::size_t const elements = static_cast<std::size_t>(args.limits.query_tokens * args.query_token_stride);
  auto const queries = reserve(Part::values, elements * sizeof(tik_bf16), 16, random);
  auto const offsets = reserve(Part::indices, (shape_.rows.size() + 1) * sizeof(int32_t), 16, random);
  auto const lengths = reserve(Part::indices, shape_.rows.size() * sizeof(int32_t), 16, random);
  if (!queries || !offsets || !lengths) return too_large();
  queries_ = *queries, offsets_ = *offsets, lengths_ = *lengths;
  if (!shape_.dense)
    std::fill_n(at<tik_bf16>(Region::input, queries_), elements, unused_cache); // else every element is written
  point(args.queries, Region::input, queries_);
  if (!arena_->drawn()) write_queries(dataset);
  auto* const first = at<int32_t>(Region::input, offsets_);
  auto* const length = at<int32_t>(Region::input, lengths_);
  for (std::size_t b = 0; b < shape_.rows.size(); ++b) {
    first[b] = first_row_[b];
    length[b] = shape_.rows[b].first + shape_.rows[b].count;
  }
  first[shape_.rows.size()] = total_rows_;
  if (shape_.kind != spec::WorkloadKind::decode) point(args.query_offsets, Region::input, offsets_);
  if (shape_.kind != spec::WorkloadKind::full) point(args.kv_lengths, Region::input, lengths_);
  return {};
}

Checked<void> Image::place_cache(Dataset const& dataset, Random& random) {
  tik_attention_args& args = request_.args;
  tik_kv_view& kv = args.kv;
  int64_t const pad = shape_.dense ? 0 : 8 * random.between(0, 2);
  int64_t const dim = args.shape.head_dim, heads = args.shape.kv_heads;
  // Tokens that lie together: all rows of a call, the cache of a sequence, or a page. Heads are the outer or the inner index.
  int64_t block_tokens = args.limits.query_tokens, blocks = 1;
  kv.layout = static_cast<int32_t>(shape_.layout);
  if (shape_.layout == spec::KvLayout::contiguous) {
    block_tokens = args.limits.kv_length + (shape_.dense ? 0 : random.between(0, 5));
    blocks = args.batch;
  } else if (shape_.layout == spec::KvLayout::paged) {
    kv.page_size = shape_.page_size;
    block_tokens = shape_.page_size;
    kv.page_table_stride =
        static_cast<int32_t>((args.limits.kv_length + kv.page_size - 1) / kv.page_size) + random.between(0, 2);
    blocks = kv.page_count = args.batch * kv.page_table_stride + random.between(1, 4);
  }
  if (shape_.dense || random.coin()) {
    kv.head_stride = dim + pad;
    kv.token_stride = heads * kv.head_stride + pad;
  } else {
    kv.token_stride = dim + pad;
    kv.head_stride = block_tokens * kv.token_stride + pad;
  }
  int64_t const block_stride = round_up(std::max(block_tokens * kv.token_stride, heads * kv.head_stride), 8) + pad;
  if (shape_.layout == spec::KvLayout::contiguous) kv.sequence_stride = block_stride;
  if (shape_.layout == spec::KvLayout::paged) kv.page_stride = block_stride;
  std::size_t const elements = static_cast<std::size_t>(blocks * block_stride);
  auto const keys = reserve(Part::values, elements * sizeof(tik_bf16), 16, random);
  auto const values = reserve(Part::values, elements * sizeof(tik_bf16), 16, random);
  if (!keys || !values) return too_large();
  keys_ = *keys, values_ = *values;
  bool const all_written = arena_->drawn() || (shape_.dense && shape_.layout != spec::KvLayout::paged);
  for (std::size_t const tensor : {keys_, values_}) {
    if (!all_written) std::fill_n(at<tik_bf16>(Region::input, tensor), elements, unused_cache);
  }
  point(kv.keys, Region::input, keys_);
  point(kv.values, Region::input, values_);
  if (shape_.layout == spec::KvLayout::paged) {
    std::vector<int> pages(static_cast<std::size_t>(kv.page_count));
    std::iota(pages.begin(), pages.end(), 0);
    random.shuffle(pages);
    page_table_.assign(static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(kv.page_table_stride), -1);
    std::size_t next = 0;
    for (std::size_t b = 0; b < shape_.rows.size(); ++b) {
      int const tokens = shape_.rows[b].first + shape_.rows[b].count;
      for (int page = 0; page * kv.page_size < tokens; ++page) {
        page_table_[b * static_cast<std::size_t>(kv.page_table_stride) + static_cast<std::size_t>(page)] = pages[next++];
      }
    }
    auto const table = reserve(Part::indices, page_table_.size() * sizeof(int32_t), 16, random);
    if (!table) return too_large();
    table_ = *table;
    std::copy(page_table_.begin(), page_table_.end(), at<int32_t>(Region::input, table_));
    point(kv.page_table, Region::input, table_);
  }
  for (int b = 0; b < args.batch && !arena_->drawn(); ++b) {
    Rows const& rows = shape_.rows[static_cast<std::size_t>(b)];
    for (int token = 0; token < rows.first + rows.count; ++token) write_token(dataset, b, token);
  }
  return {};
}

Checked<void> Image::place_outputs(Random& random) {
  tik_attention_args& args = request_.args;
  int64_t const pad = shape_.dense ? 0 : 8 * random.between(0, 2);
  args.out_head_stride = args.shape.head_dim + pad;
  args.out_token_stride = args.shape.query_heads * args.out_head_stride + pad;
  output_begin_ = arena_->used(Part::workspace);
  auto const workspace_bytes = arena_->workspace(args.shape, args.limits);
  if (!workspace_bytes) return tl::unexpected(workspace_bytes.error());
  args.workspace_bytes = *workspace_bytes;
  if (*workspace_bytes > 0) {
    auto const workspace = arena_->place(Part::workspace, *workspace_bytes, workspace_alignment, random);
    if (!workspace) {
      return candidate_failure(
          fmt::format("The candidate asks for {} bytes of workspace, more than is given.", *workspace_bytes));
    }
    workspace_ = *workspace;
    if (!arena_->drawn()) std::memset(at<char>(Region::output, workspace_), 0, *workspace_bytes);
    point(args.workspace, Region::output, workspace_);
  }
  std::size_t const rows = static_cast<std::size_t>(args.limits.query_tokens);
  guard_begin_ = static_cast<std::size_t>(round_up(static_cast<std::int64_t>(arena_->used(Part::results)), 8));
  auto const out =
      reserve(Part::results, rows * static_cast<std::size_t>(args.out_token_stride) * sizeof(tik_bf16), 16, random);
  auto const lse = reserve(Part::results, rows * static_cast<std::size_t>(args.shape.query_heads) * sizeof(float), 16, random);
  auto const end = reserve(Part::results, guard_bytes, 16, random);
  if (!out || !lse || !end) return too_large();
  out_ = *out, lse_ = *lse, guard_end_ = *end;
  point(args.out, Region::output, out_);
  point(args.lse, Region::output, lse_);
  if (!arena_->drawn()) poison_outputs();
  return {};
}

void Image::write_queries(Dataset const& dataset) {
  for (std::size_t b = 0; b < shape_.rows.size(); ++b) write_query_rows(dataset, static_cast<int>(b), 0, shape_.rows[b].count);
}

void Image::write_query_rows(Dataset const& dataset, int row_range, int first, int count) {
  tik_attention_args const& args = request_.args;
  std::size_t const dim = static_cast<std::size_t>(args.shape.head_dim),
                    heads = static_cast<std::size_t>(args.shape.query_heads);
  Rows const& rows = shape_.rows[static_cast<std::size_t>(row_range)];
  Sequence const& sequence = dataset.sequences[static_cast<std::size_t>(rows.sequence)];
  tik_bf16 const* source =
      sequence.queries.data() + static_cast<std::size_t>(rows.first + first - sequence.first_query) * heads * dim;
  // Heads that lie side by side are copied at once.
  bool const together = args.query_head_stride == args.shape.head_dim;
  std::size_t const pieces = together ? 1 : heads, piece = together ? heads * dim : dim;
  for (int i = first; i < first + count; ++i) {
    tik_bf16* const target =
        at<tik_bf16>(Region::input, queries_) + (first_row_[static_cast<std::size_t>(row_range)] + i) * args.query_token_stride;
    for (std::size_t h = 0; h < pieces; ++h, source += piece) {
      std::memcpy(target + static_cast<int64_t>(h) * args.query_head_stride, source, piece * sizeof(tik_bf16));
    }
  }
  note_change(query_extent(row_range, first, count));
}

// Index of the first element of a token's key or value.
std::size_t Image::cache_element(int row_range, int token, int head) const {
  tik_kv_view const& kv = request_.args.kv;
  int64_t element = head * kv.head_stride;
  switch (shape_.layout) {
    case spec::KvLayout::packed:
      element += (first_row_[static_cast<std::size_t>(row_range)] + token) * kv.token_stride;
      break;
    case spec::KvLayout::contiguous:
      element += row_range * kv.sequence_stride + token * kv.token_stride;
      break;
    case spec::KvLayout::paged:
      element +=
          page_table_[static_cast<std::size_t>(row_range * kv.page_table_stride + token / kv.page_size)] * kv.page_stride +
          token % kv.page_size * kv.token_stride;
      break;
  }
  return static_cast<std::size_t>(element);
}

void Image::write_token(Dataset const& dataset, int row_range, int token) { fill_token(&dataset, row_range, token); }

void Image::erase_token(int row_range, int token) { fill_token(nullptr, row_range, token); }

// Without a dataset: with what stands where no token is.
void Image::fill_token(Dataset const* dataset, int row_range, int token) {
  Sequence const* const sequence =
      dataset == nullptr
          ? nullptr
          : &dataset->sequences[static_cast<std::size_t>(shape_.rows[static_cast<std::size_t>(row_range)].sequence)];
  std::size_t const dim = static_cast<std::size_t>(request_.args.shape.head_dim);
  // Heads that lie side by side are copied at once.
  bool const together = request_.args.kv.head_stride == request_.args.shape.head_dim;
  int const heads = request_.args.shape.kv_heads, pieces = together ? 1 : heads;
  std::size_t const piece = together ? static_cast<std::size_t>(heads) * dim : dim;
  std::size_t source = static_cast<std::size_t>(token) * static_cast<std::size_t>(heads) * dim;
  for (int head = 0; head < pieces; ++head, source += piece) {
    std::size_t const element = cache_element(row_range, token, head);
    for (std::size_t const tensor : {keys_, values_}) {
      tik_bf16* const target = at<tik_bf16>(Region::input, tensor) + element;
      if (sequence == nullptr) {
        std::fill_n(target, piece, unused_cache);
      } else {
        std::memcpy(target, (tensor == keys_ ? sequence->keys : sequence->values).data() + source, piece * sizeof(tik_bf16));
      }
      std::size_t const begin = tensor + element * sizeof(tik_bf16);
      note_change({begin, begin + piece * sizeof(tik_bf16)});
    }
  }
}

void Image::advance(Dataset const& dataset, int row_range, int token) {
  shape_.rows[static_cast<std::size_t>(row_range)].first = token;
  write_token(dataset, row_range, token);
  set_length(row_range, token + 1);
}

// What is measured is sent by whoever measures it.
void Image::note_change(Extent const& extent) {
  if (sent_ && !shape_.dense && changed_.size() <= most_changes) changed_.push_back(extent);
}

Checked<void> Image::send_changes() {
  Transfer& transfer = request_.transfer;
  transfer.input = input_extent();
  if (!sent_ || changed_.size() > most_changes) return {};
  transfer.input = {};
  if (changed_.empty()) return {};
  std::memcpy(at<char>(Region::input, change_list_), changed_.data(), changed_.size() * sizeof(Extent));
  Checked<CallResult> const sent = arena_->session().exchange_done(
      UploadRequest{change_list_, changed_.size(), 0, output_poison}, "copying inputs to the device");
  if (!sent) return tl::unexpected(sent.error());
  return {};
}

tik_attention_args Image::host_args() const {
  tik_attention_args args = request_.args;
  args.out = nullptr;
  args.lse = nullptr;
  args.workspace = nullptr;
  for_each_pointer(args, [this]<class T>(T*& pointer) {
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    if (address != 0) pointer = at<T>(region_of(address), offset_of(address));
  });
  return args;
}

Extent Image::input_extent() const { return {input_begin_, input_end_ + guard_bytes}; }

Extent Image::query_extent(int row_range, int first, int count) const {
  std::size_t const row = static_cast<std::size_t>(request_.args.query_token_stride) * sizeof(tik_bf16);
  std::size_t const begin = queries_ + static_cast<std::size_t>(first_row_[static_cast<std::size_t>(row_range)] + first) * row;
  return {begin, begin + static_cast<std::size_t>(count) * row};
}

std::array<Extent, 2> Image::token_extents(int row_range, int token) const {
  std::size_t const first = cache_element(row_range, token, 0) * sizeof(tik_bf16);
  std::size_t const bytes = static_cast<std::size_t>(request_.args.kv.token_stride) * sizeof(tik_bf16);
  return {Extent{keys_ + first, keys_ + first + bytes}, Extent{values_ + first, values_ + first + bytes}};
}

Checked<void> Image::return_inputs(Random& random) {
  if (!arena_->session().gpu()) return {};
  Extent const input = input_extent();
  auto const echo = arena_->place(Part::results, input.end - input.begin, 16, random);
  if (!echo) return too_large();
  request_.transfer.echo = *echo;
  request_.transfer.echoed = input;
  return {};
}

void Image::set_length(int row_range, int tokens) {
  at<int32_t>(Region::input, lengths_)[row_range] = tokens;
  std::size_t const begin = lengths_ + static_cast<std::size_t>(row_range) * sizeof(int32_t);
  note_change({begin, begin + sizeof(int32_t)});
}

} // namespace tik::evaluator
