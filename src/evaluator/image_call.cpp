// The call of an image, and what it left behind.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/base/sha256.h"
#include "src/evaluator/image.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {

void Image::poison_outputs() {
  std::fill_n(at<std::uint16_t>(Region::output, guard_begin_), (guard_end_ - guard_begin_) / sizeof output_poison,
              output_poison);
}

Checked<void> Image::check_surroundings() const {
  std::uint16_t const* const words = at<std::uint16_t const>(Region::output, guard_begin_);
  std::size_t const count = (guard_end_ - guard_begin_) / sizeof output_poison;
  // All alike, and the first is the poison.
  if (words[0] == output_poison && std::memcmp(words, words + 1, (count - 1) * sizeof output_poison) == 0) return {};
  std::size_t const first = static_cast<std::size_t>(
      std::find_if(words, words + count, [](std::uint16_t word) { return word != output_poison; }) - words);
  auto const distance =
      static_cast<std::int64_t>(guard_begin_ + first * sizeof output_poison) - static_cast<std::int64_t>(out_);
  return candidate_failure(fmt::format("The call wrote outside its outputs, {} bytes from the begin of out.", distance),
                           {{"offset_from_out", distance},
                            {"offset_from_lse", distance + static_cast<std::int64_t>(out_) - static_cast<std::int64_t>(lse_)}});
}

namespace {

bool is_nan(tik_bf16 value) { return (value & 0x7fff) > 0x7f80; }

// The first NaN of some values. Most rows have none, and that is found out without looking at one value after another.
std::optional<std::size_t> first_nan(tik_bf16 const* values, std::size_t count) {
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) any |= is_nan(values[i]);
  if (!any) return std::nullopt;
  return static_cast<std::size_t>(std::find_if(values, values + count, is_nan) - values);
}

} // namespace

// Copies the outputs and puts the poison back in their place, so that what remains must be poison everywhere.
Checked<void> Image::take(Outputs& outputs) {
  tik_attention_args const& args = request_.args;
  std::size_t const heads = static_cast<std::size_t>(args.shape.query_heads),
                    dim = static_cast<std::size_t>(args.shape.head_dim);
  std::size_t const rows = static_cast<std::size_t>(total_rows_);
  outputs.out.resize(rows * heads * dim);
  outputs.lse.resize(rows * heads);
  std::uint32_t const lse_poison = static_cast<std::uint32_t>(output_poison) << 16 | output_poison;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t h = 0; h < heads; ++h) {
      tik_bf16* const source = at<tik_bf16>(Region::output, out_) + static_cast<int64_t>(row) * args.out_token_stride +
                               static_cast<int64_t>(h) * args.out_head_stride;
      tik_bf16* const target = outputs.out.data() + (row * heads + h) * dim;
      std::memcpy(target, source, dim * sizeof(tik_bf16));
      std::fill_n(source, dim, output_poison);
      float* const lse = at<float>(Region::output, lse_) + row * heads + h;
      std::uint32_t lse_bits = 0;
      std::memcpy(&lse_bits, lse, sizeof lse_bits);
      outputs.lse[row * heads + h] = *lse;
      std::memcpy(lse, &lse_poison, sizeof lse_poison);
      if (auto const nan = first_nan(target, dim)) {
        return candidate_failure(fmt::format("The call {} out[row {}, head {}, {}].",
                                             target[*nan] == output_poison ? "did not write" : "wrote NaN to", row, h, *nan),
                                 {{"row", row}, {"head", h}, {"index", *nan}});
      }
      if (std::isnan(outputs.lse[row * heads + h])) {
        return candidate_failure(
            fmt::format("The call {} lse[row {}, head {}].", lse_bits == lse_poison ? "did not write" : "wrote NaN to", row, h),
            {{"row", row}, {"head", h}});
      }
    }
  }
  return {};
}

Checked<void> Image::run_refused(CallRequest const& request, tik_status status, std::string const& what) {
  Checked<CallResult> const result = arena_->session().call(request);
  if (!result) return tl::unexpected(result.error());
  if (result->reply.status != status) {
    poison_outputs();
    return candidate_failure(
        fmt::format("A call with {} returned status {} instead of {}.", what, result->reply.status, static_cast<int>(status)));
  }
  if (result->reply.error.empty()) {
    return candidate_failure(fmt::format("A call with {} was refused, but tik_attention_last_error() has no sentence.", what));
  }
  if (auto untouched = check_surroundings(); !untouched) {
    poison_outputs();
    return candidate_failure(fmt::format("A call with {} was refused, but wrote to its outputs.", what));
  }
  return {};
}

std::string Image::returned_input_hash() const {
  if (request_.transfer.echo == 0) return input_hash();
  Extent const input = input_extent();
  return sha256_hex({at<char const>(Region::output, request_.transfer.echo), input.end - input.begin});
}

std::string Image::input_hash() const {
  Extent const extent = input_extent();
  std::span<std::byte> const input = arena_->bytes(Region::input).subspan(extent.begin, extent.end - extent.begin);
  return sha256_hex({reinterpret_cast<char const*>(input.data()), input.size()});
}

Checked<Outputs> Image::run() {
  bool const gpu = arena_->session().gpu();
  if (gpu) {
    if (auto sent = send_changes(); !sent) return tl::unexpected(sent.error());
  }
  Checked<CallResult> result = arena_->session().call(request_);
  if (!result) return tl::unexpected(std::move(result.error()));
  if (result->reply.status != TIK_OK) {
    return candidate_failure(fmt::format("A valid call was refused with status {}: {}", result->reply.status,
                                         result->reply.error.empty() ? "no reason given." : valid_utf8(result->reply.error)));
  }
  // A workspace is zeroed before its first use only, and a graph is there to be launched again.
  if (gpu) {
    request_.transfer.output = request_.transfer.result;
    request_.transfer.graph = true;
    sent_ = true;
    changed_.clear();
  }
  Checked<Outputs> outputs = collect();
  if (!outputs) return outputs;
  outputs->reported_cpu_us = 1e-3 * static_cast<double>(result->reply.cpu_nanoseconds);
  outputs->reported_wall_us = 1e-3 * static_cast<double>(result->reply.wall_nanoseconds);
  outputs->outside_us = result->outside_us;
  outputs->cpu_us = result->cpu_us;
  return outputs;
}

Checked<Outputs> Image::collect() {
  Outputs outputs;
  Checked<void> taken = take(outputs);
  if (taken) taken = check_surroundings();
  if (!taken) {
    poison_outputs();
    return tl::unexpected(std::move(taken.error()));
  }
  return outputs;
}
} // namespace tik::evaluator
