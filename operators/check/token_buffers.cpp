#include "operators/check/token_buffers.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace tik::operators::check {
namespace {

constexpr std::size_t guard_bytes = 256; // poisoned, before and after every tensor

} // namespace

std::string describe(Layout const& layout) {
  std::string text = layout.heads_first ? "heads first" : "tokens first";
  if (layout.gap > 0) text += ", gap " + std::to_string(layout.gap);
  return text;
}

TokenBuffers::TokenBuffers(Device& device, TokenOperator const& checked, Layout const& layout, std::vector<int> tokens)
    : device_(device), checked_(checked), tokens_(std::move(tokens)) {
  auto const slots = static_cast<std::int64_t>(tokens_.size());
  for (Tensor const& tensor : checked.tensors()) {
    // Numbers a token has one of (positions, ids) and tensors that all share lie without gaps, as their contracts say.
    bool const plain = tensor.shared || tensor.element == Element::int32;
    std::int64_t const row = std::int64_t{tensor.heads} * tensor.columns;
    Held held{&tensor, row + (plain ? 0 : layout.gap), tensor.columns, {}, {}, {}};
    std::int64_t elements = held.token_stride * (tensor.shared ? 1 : slots);
    if (!plain && layout.heads_first) {
      held.token_stride = tensor.columns;
      held.head_stride = slots * tensor.columns + layout.gap;
      elements = held.head_stride * tensor.heads;
    }
    std::size_t const bytes = 2 * guard_bytes + static_cast<std::size_t>(elements) * size_of(tensor.element);
    held.image.assign((bytes + 3) / 4 * 4, poison_byte);
    if (!tensor.output) {
      std::vector<unsigned char> content(tensor.row_bytes());
      for (int slot = 0; slot < (tensor.shared ? 1 : slots); ++slot) {
        tensor.content(tensor.shared ? 0 : tokens_[slot], content.data());
        copy_row(held, slot, content.data());
      }
    }
    held.memory = Allocation(device, held.image.size());
    held.memory.upload(held.image);
    held_.push_back(std::move(held));
  }
}

void TokenBuffers::copy_row(Held& held, int slot, unsigned char const* row) const {
  std::size_t const size = size_of(held.tensor->element);
  std::size_t const columns = held.tensor->columns * size;
  for (int head = 0; head < held.tensor->heads; ++head) {
    std::size_t const at = guard_bytes + static_cast<std::size_t>(slot * held.token_stride + head * held.head_stride) * size;
    if (row == nullptr)
      std::memset(held.image.data() + at, poison_byte, columns);
    else
      std::memcpy(held.image.data() + at, row + head * columns, columns);
  }
}

unsigned char* TokenBuffers::place(Held const& held, int slot, int head) const {
  std::int64_t const elements = (held.tensor->shared ? 0 : slot * held.token_stride) + head * held.head_stride;
  return static_cast<unsigned char*>(held.memory.memory()) + guard_bytes +
         static_cast<std::size_t>(elements) * size_of(held.tensor->element);
}

tik_status TokenBuffers::call(int first, int count) const {
  std::vector<Place> places;
  for (Held const& held : held_) places.push_back({place(held, first, 0), held.token_stride, held.head_stride});
  return checked_.call(device_.functions(), places, count);
}

tik_status TokenBuffers::run(int first, int count) {
  for (Held& held : held_) {
    if (held.tensor->output) held.memory.poison();
  }
  return call(first, count);
}

std::string TokenBuffers::difference(Held& held) const {
  std::vector<unsigned char>& actual = held.actual;
  actual.resize(held.image.size());
  device_.download(actual.data(), held.memory.memory(), actual.size());
  if (actual == held.image) return "";
  std::size_t const size = size_of(held.tensor->element);
  std::size_t first = actual.size();
  std::size_t differing = 0;
  for (std::size_t at = 0; at < actual.size(); at += size) {
    if (std::memcmp(&actual[at], &held.image[at], size) == 0) continue;
    if (differing++ == 0) first = at;
  }
  std::int64_t const element =
      (static_cast<std::int64_t>(first) - static_cast<std::int64_t>(guard_bytes)) / static_cast<std::int64_t>(size);
  std::uint32_t expected = 0, got = 0;
  std::memcpy(&expected, &held.image[first], size);
  std::memcpy(&got, &actual[first], size);
  char text[256];
  std::snprintf(
      text, sizeof text,
      "%s: %zu elements differ, the first at offset %lld (token stride %lld, head stride %lld): expected %0*x, got %0*x",
      held.tensor->name.c_str(), differing, static_cast<long long>(element), static_cast<long long>(held.token_stride),
      static_cast<long long>(held.head_stride), static_cast<int>(2 * size), expected, static_cast<int>(2 * size), got);
  return text;
}

std::string TokenBuffers::compare(std::vector<Rows> const& expected, int first, int count) {
  std::string problems;
  std::size_t output = 0;
  for (Held& held : held_) {
    if (!held.tensor->output) continue;
    Rows const& rows = expected[output++];
    for (int slot = first; slot < first + count; ++slot) copy_row(held, slot, rows[tokens_[slot]].data());
    std::string const problem = difference(held);
    if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + problem;
    for (int slot = first; slot < first + count; ++slot) copy_row(held, slot, nullptr);
  }
  return problems;
}

std::vector<std::vector<unsigned char>> TokenBuffers::run_alone(int slot) {
  auto const each_head = [&](auto handle) {
    for (Held const& held : held_) {
      if (!held.tensor->output) continue;
      for (int head = 0; head < held.tensor->heads; ++head)
        handle(held, head, held.tensor->columns * size_of(held.tensor->element));
    }
  };
  each_head([&](Held const& held, int head, std::size_t bytes) { device_.poison(place(held, slot, head), bytes); });
  if (call(slot, 1) != TIK_OK) throw std::runtime_error(std::string("refused: ") + device_.functions().last_error());
  std::vector<std::vector<unsigned char>> rows;
  each_head([&](Held const& held, int head, std::size_t bytes) {
    if (head == 0) rows.emplace_back(held.tensor->row_bytes());
    device_.download(rows.back().data() + head * bytes, place(held, slot, head), bytes);
  });
  return rows;
}

std::string TokenBuffers::compare_inputs() {
  std::string problems;
  for (Held& held : held_) {
    if (held.tensor->output) continue;
    std::string const problem = difference(held);
    if (!problem.empty()) problems += (problems.empty() ? "input changed: " : "; ") + problem;
  }
  return problems;
}

} // namespace tik::operators::check
