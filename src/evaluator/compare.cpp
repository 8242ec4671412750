#include "src/evaluator/compare.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace tik::evaluator {
namespace {

tl::unexpected<Failure> mismatch(std::string const& who, std::string const& what, char const* tensor, Rows const& rows,
                                 int token, std::size_t head, std::optional<std::size_t> index, std::uint32_t expected,
                                 std::uint32_t found, int digits) {
  std::string const place =
      index ? fmt::format("{}[head {}, {}]", tensor, head, *index) : fmt::format("{}[head {}]", tensor, head);
  Json details = {{"case", what},
                  {"call", who},
                  {"tensor", tensor},
                  {"sequence", rows.sequence},
                  {"token", token},
                  {"head", head},
                  {"full_bits", fmt::format("{:0{}x}", expected, digits)},
                  {"bits", fmt::format("{:0{}x}", found, digits)}};
  if (index) details["index"] = *index;
  return candidate_failure(
      fmt::format("{} differs from full at token {} of sequence {}, {}: bits {:0{}x} instead of {:0{}x} ({}).", who, token,
                  rows.sequence, place, found, digits, expected, digits, what),
      {{"first_mismatch", std::move(details)}});
}

} // namespace

Truth::Truth(Dataset const& dataset, CallShape const& shape, Outputs const& outputs) : shape_(dataset.shape) {
  sequences_.resize(dataset.sequences.size());
  std::size_t const heads = static_cast<std::size_t>(shape_.query_heads), dim = static_cast<std::size_t>(shape_.head_dim);
  std::size_t row = 0;
  for (Rows const& rows : shape.rows) {
    Outputs& sequence = sequences_[static_cast<std::size_t>(rows.sequence)];
    std::size_t const end = row + static_cast<std::size_t>(rows.count);
    sequence.out.assign(outputs.out.data() + row * heads * dim, outputs.out.data() + end * heads * dim);
    sequence.lse.assign(outputs.lse.data() + row * heads, outputs.lse.data() + end * heads);
    row = end;
  }
}

Checked<void> Truth::compare(CallShape const& shape, Outputs const& outputs, std::string const& who,
                             std::string const& what) const {
  std::size_t const heads = static_cast<std::size_t>(shape_.query_heads), dim = static_cast<std::size_t>(shape_.head_dim);
  std::size_t row = 0;
  for (Rows const& rows : shape.rows) {
    Outputs const& truth = sequences_[static_cast<std::size_t>(rows.sequence)];
    for (int i = 0; i < rows.count; ++i, ++row) {
      int const token = rows.first + i;
      for (std::size_t head = 0; head < heads; ++head) {
        std::size_t const here = row * heads + head, there = static_cast<std::size_t>(token) * heads + head;
        tik_bf16 const* const found = outputs.out.data() + here * dim;
        tik_bf16 const* const expected = truth.out.data() + there * dim;
        if (std::memcmp(found, expected, dim * sizeof(tik_bf16)) != 0) {
          std::size_t d = 0;
          while (found[d] == expected[d]) ++d;
          return mismatch(who, what, "out", rows, token, head, d, expected[d], found[d], 4);
        }
        auto const expected_lse = std::bit_cast<std::uint32_t>(truth.lse[there]);
        auto const found_lse = std::bit_cast<std::uint32_t>(outputs.lse[here]);
        if (expected_lse != found_lse) {
          return mismatch(who, what, "lse", rows, token, head, std::nullopt, expected_lse, found_lse, 8);
        }
      }
    }
  }
  return {};
}

std::string describe_layout(spec::KvLayout layout, int page_size) {
  switch (layout) {
    case spec::KvLayout::packed:
      return "packed";
    case spec::KvLayout::contiguous:
      return "contiguous cache";
    case spec::KvLayout::paged:
      return fmt::format("pages of {}", page_size);
  }
  return "packed";
}

} // namespace tik::evaluator
