#include "operators/check/attention_backward_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "operators/attention_backward/validate.h"
#include "operators/check/source.h"

namespace tik::operators::check {
namespace {

constexpr tik_bf16 poison = poison_byte << 8 | poison_byte;
constexpr float lse_of_neighbours = 6;

// One tensor of all rows of a call.
class CallRows {
 public:
  CallRows(Device& device, int heads, int head_dim, int rows, BackwardLayout const& layout)
      : heads_(heads), head_dim_(head_dim), rows_(rows), first_(layout.before) {
    token_stride_ = layout.heads_first ? head_dim : std::int64_t{heads} * head_dim + layout.gap;
    head_stride_ = layout.heads_first ? std::int64_t{rows} * head_dim + layout.gap : head_dim;
    image_.assign(static_cast<std::size_t>(layout.heads_first ? heads * head_stride_ : rows * token_stride_), poison);
    memory_ = Allocation(device, image_.size() * sizeof(tik_bf16));
  }

  // The rows of neighbours are random; those of the sequence come from `content`. Padding stays poison.
  void write(std::vector<tik_bf16> const& content, int tokens, int used, std::uint64_t seed) {
    std::vector<tik_bf16> row(std::size_t(heads_) * head_dim_);
    for (int token = 0; token < used; ++token) {
      int const own = token - first_;
      if (own >= 0 && own < tokens) {
        std::copy_n(content.begin() + std::ptrdiff_t(own * row.size()), row.size(), row.begin());
      } else {
        write_row(row.data(), static_cast<int>(row.size()), seed, token);
      }
      for (int head = 0; head < heads_; ++head)
        std::copy_n(row.begin() + head * head_dim_, head_dim_, image_.begin() + place(token, head));
    }
    upload();
  }
  void upload() { device_upload(image_); }

  tik_rows source() const { return {data(), token_stride_, head_stride_}; }
  tik_mutable_rows target() const { return {data(), token_stride_, head_stride_}; }

  std::vector<tik_bf16> download() const {
    std::vector<unsigned char> const bytes = memory_.download();
    std::vector<tik_bf16> numbers(image_.size());
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  // The rows of the sequence, taken out of `image`: what is left there must be poison but for the rows of neighbours.
  std::vector<tik_bf16> take(std::vector<tik_bf16>& image, int tokens, int used) const {
    std::vector<tik_bf16> rows;
    for (int token = 0; token < used; ++token) {
      for (int head = 0; head < heads_; ++head) {
        auto const at = image.begin() + place(token, head);
        if (token >= first_ && token < first_ + tokens) rows.insert(rows.end(), at, at + head_dim_);
        std::fill(at, at + head_dim_, poison);
      }
    }
    return rows;
  }

  bool unchanged() const { return download() == image_; }

 private:
  tik_bf16* data() const { return static_cast<tik_bf16*>(memory_.memory()); }
  std::ptrdiff_t place(int token, int head) const { return token * token_stride_ + head * head_stride_; }
  void device_upload(std::vector<tik_bf16> const& image) {
    std::vector<unsigned char> bytes(image.size() * sizeof(tik_bf16));
    std::memcpy(bytes.data(), image.data(), bytes.size());
    memory_.upload(bytes);
  }

  int heads_, head_dim_, rows_, first_;
  std::int64_t token_stride_, head_stride_;
  std::vector<tik_bf16> image_;
  Allocation memory_;
};

template <typename Number>
Allocation uploaded(Device& device, std::vector<Number> const& numbers) {
  Allocation memory(device, numbers.size() * sizeof(Number));
  device.upload(memory.memory(), numbers.data(), memory.bytes());
  return memory;
}

} // namespace

BackwardOutputs run_backward(Device& device, BackwardInputs const& inputs, BackwardLayout const& layout) {
  AttentionBackwardShape const& shape = inputs.shape;
  int const used = layout.before + layout.tokens + layout.after, rows = used + layout.padding;
  auto const tensor = [&](int heads) { return CallRows(device, heads, shape.head_dim, rows, layout); };
  CallRows queries = tensor(shape.query_heads), keys = tensor(shape.kv_heads), values = tensor(shape.kv_heads),
           out = tensor(shape.query_heads), out_gradient = tensor(shape.query_heads);
  queries.write(inputs.queries, layout.tokens, used, 1);
  keys.write(inputs.keys, layout.tokens, used, 2);
  values.write(inputs.values, layout.tokens, used, 3);
  out.write(inputs.out, layout.tokens, used, 4);
  out_gradient.write(inputs.out_gradient, layout.tokens, used, 5);
  CallRows gradients[] = {tensor(shape.query_heads), tensor(shape.kv_heads), tensor(shape.kv_heads)};
  for (CallRows& gradient : gradients) gradient.upload();

  std::vector<float> lse(std::size_t(rows) * shape.query_heads, lse_of_neighbours);
  std::copy_n(inputs.lse.begin(), std::size_t(layout.tokens) * shape.query_heads,
              lse.begin() + std::ptrdiff_t(layout.before) * shape.query_heads);
  std::vector<std::int32_t> offsets{0};
  for (int const length : {layout.before, layout.tokens, layout.after}) {
    if (length > 0) offsets.push_back(offsets.back() + length);
  }
  Allocation const device_lse = uploaded(device, lse), device_offsets = uploaded(device, offsets);
  Allocation workspace(device, static_cast<std::size_t>(attention_backward::workspace_bytes(rows, shape.query_heads)));
  workspace.poison();

  tik_attention_full_backward_args args{};
  args.struct_bytes = sizeof args;
  args.batch = static_cast<int>(offsets.size()) - 1;
  args.tokens = rows;
  args.longest = std::max({layout.before, layout.tokens, layout.after});
  args.shape = {shape.query_heads, shape.kv_heads, shape.head_dim, 1 / std::sqrt(static_cast<float>(shape.head_dim))};
  args.query_offsets = static_cast<std::int32_t const*>(device_offsets.memory());
  args.queries = queries.source();
  args.keys = keys.source();
  args.values = values.source();
  args.out = out.source();
  args.lse = static_cast<float const*>(device_lse.memory());
  args.out_gradient = out_gradient.source();
  args.query_gradient = gradients[0].target();
  args.key_gradient = gradients[1].target();
  args.value_gradient = gradients[2].target();
  args.workspace = workspace.memory();
  args.workspace_bytes = workspace.bytes();

  BackwardOutputs outputs;
  if (device.functions().attention_full_backward(&args) != TIK_OK) {
    outputs.problem = std::string("refused: ") + device.functions().last_error();
    return outputs;
  }
  std::vector<tik_bf16>* const taken[] = {&outputs.query_gradient, &outputs.key_gradient, &outputs.value_gradient};
  for (int i = 0; i < 3; ++i) {
    std::vector<tik_bf16> image = gradients[i].download();
    *taken[i] = gradients[i].take(image, layout.tokens, used);
    if (std::any_of(image.begin(), image.end(), [](tik_bf16 number) { return number != poison; }))
      outputs.problem = "something is written where no gradient belongs";
  }
  for (CallRows const* const input : {&queries, &keys, &values, &out, &out_gradient}) {
    if (!input->unchanged()) outputs.problem = "an input is changed";
  }
  return outputs;
}

} // namespace tik::operators::check
