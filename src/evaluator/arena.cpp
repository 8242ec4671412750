#include <cpuid.h>
#include <fmt/format.h>
#include <immintrin.h>

#include <cstring>

#include "src/evaluator/image.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t guard_bytes = 256;
constexpr std::uint64_t cache_line = 64;
constexpr int largest_gap = 8; // in units of the alignment, beyond the guard

bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1U << 23)) != 0;
}

__attribute__((target("clflushopt"))) void flush_many(std::byte* begin, std::byte* end) {
  for (std::byte* line = begin; line < end; line += cache_line) _mm_clflushopt(line);
}

void flush_one_by_one(std::byte* begin, std::byte* end) {
  for (std::byte* line = begin; line < end; line += cache_line) _mm_clflush(line);
}

} // namespace

Arena::Arena(Session& session) : session_(session) {
  cursors_[index_of(Part::values)] = {0, 0, bytes(Region::input).size()};
  cursors_[index_of(Part::results)] = {0, 0, bytes(Region::output).size()};
}

Arena::Arena(Session& session, std::size_t value_bytes, std::size_t result_bytes) : session_(session), drawn_(true) {
  std::size_t const inputs = bytes(Region::input).size(), outputs = bytes(Region::output).size();
  cursors_ = {Cursor{0, 0, value_bytes}, Cursor{value_bytes, value_bytes, inputs}, Cursor{0, 0, outputs - result_bytes},
              Cursor{outputs - result_bytes, outputs - result_bytes, outputs}};
}

void Arena::rewind(Random& random) {
  cursors_[index_of(Part::values)].used = random.next() % largest_rewind;
  Cursor& results = cursors_[index_of(Part::results)];
  results.used = results.begin;
}

void Arena::clear() {
  for (Cursor& cursor : cursors_) cursor.used = cursor.begin;
}

std::span<std::byte> Arena::bytes(Region region) const {
  return region == Region::input ? session_.input() : session_.output();
}

std::optional<std::size_t> Arena::place(Part part, std::size_t bytes, std::size_t alignment, Random& random) {
  Cursor& cursor = cursors_[index_of(part)];
  std::size_t const earliest = cursor.used + guard_bytes + alignment * static_cast<std::size_t>(random.between(0, largest_gap));
  std::size_t const offset = (earliest + alignment - 1) / alignment * alignment;
  std::size_t const end = offset + bytes;
  if (end + guard_bytes > cursor.end) return std::nullopt;
  // Whoever reads beside a tensor finds NaN, and a page, a length or an offset that cannot be. Drawn values have other drawn
  // values around them.
  bool const input = part == Part::values || part == Part::indices;
  if (input && !(drawn_ && part == Part::values)) {
    std::byte* const all = this->bytes(Region::input).data();
    std::memset(all + cursor.used, 0xff, offset - cursor.used);
    std::memset(all + end, 0xff, guard_bytes);
  }
  cursor.used = end;
  return offset;
}

Checked<std::size_t> Arena::workspace(tik_attention_shape const& shape, tik_attention_limits const& limits) {
  std::vector<std::int64_t> const key = {shape.query_heads,   shape.kv_heads,      shape.head_dim,  limits.batch,
                                         limits.query_tokens, limits.query_length, limits.kv_length};
  if (auto const known = workspaces_.find(key); known != workspaces_.end()) return known->second;
  Checked<std::int64_t> const bytes = session_.workspace_bytes(shape, limits);
  if (!bytes) return tl::unexpected(bytes.error());
  if (*bytes < 0) {
    return candidate_failure(
        fmt::format("The candidate refuses query_heads {}, kv_heads {}, head_dim {} with at most {} query "
                    "tokens and {} keys when asked for its workspace.",
                    shape.query_heads, shape.kv_heads, shape.head_dim, limits.query_tokens, limits.kv_length));
  }
  return workspaces_[key] = static_cast<std::size_t>(*bytes);
}

// Eviction by address reaches the caches of every core, so the parent does it and the worker cannot leave it out.
void Image::evict() const {
  std::byte* const base = arena_->bytes(Region::input).data();
  std::byte* const begin = base + input_begin_ / cache_line * cache_line;
  std::byte* const end = base + input_end_;
  static bool const optimized = has_clflushopt();
  optimized ? flush_many(begin, end) : flush_one_by_one(begin, end);
  _mm_mfence();
}

} // namespace tik::evaluator
