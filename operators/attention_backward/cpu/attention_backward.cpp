// The gradients of attention on CPUs: one query row after the other, every sum one chain (docs/numerics.md).
#include <vector>

#include "operators/attention_backward/validate.h"
#include "operators/cpu/backend.h"
#include "operators/functions.h"

namespace tik::operators::cpu {
namespace {

using Args = tik_attention_full_backward_args;

// On a CPU the offsets are readable.
std::optional<Refusal> check_offsets(Args const& args) {
  using validation::invalid;
  if (args.query_offsets[0] < 0) return invalid("query_offsets[0] is ", args.query_offsets[0], ", but rows begin at 0.");
  for (int b = 0; b < args.batch; ++b) {
    int64_t const length = int64_t{args.query_offsets[b + 1]} - args.query_offsets[b];
    if (length < 0 || length > args.longest) {
      return invalid("query_offsets[", b, "] and [", b + 1, "] are ", args.query_offsets[b], " and ", args.query_offsets[b + 1],
                     ": a sequence has between 0 and longest = ", args.longest, " tokens.");
    }
  }
  if (args.query_offsets[args.batch] <= args.tokens) return std::nullopt;
  return invalid("query_offsets[", args.batch, "] is ", args.query_offsets[args.batch], ", more than tokens ", args.tokens,
                 ".");
}

// From +0 in order of column.
float dot(float const* a, float const* b, int columns) {
  float sum = 0;
  for (int c = 0; c < columns; ++c) sum = multiply_add(a[c], b[c], sum);
  return sum;
}

void add_scaled(float factor, float const* source, float* sums, int columns) {
  for (int c = 0; c < columns; ++c) sums[c] = multiply_add(factor, source[c], sums[c]);
}

void load(tik_bf16 const* source, float* target, int columns) {
  for (int c = 0; c < columns; ++c) target[c] = to_float(source[c]);
}

void store(float const* source, float scale, tik_bf16* target, int columns) {
  for (int c = 0; c < columns; ++c) target[c] = to_bf16(multiply(source[c], scale));
}

// One sequence under one key/value head.
class HeadGradients {
 public:
  HeadGradients(Args const& args, int sequence, int kv_head)
      : args_(args),
        kv_head_(kv_head),
        dim_(args.shape.head_dim),
        first_(args.query_offsets[sequence]),
        tokens_(args.query_offsets[sequence + 1] - first_) {
    std::size_t const elements = std::size_t(tokens_) * dim_;
    keys_.resize(elements);
    values_.resize(elements);
    key_sums_.resize(elements);
    value_sums_.resize(elements);
  }

  void compute() {
    for (int j = 0; j < tokens_; ++j) {
      load(row(args_.keys, first_ + j, kv_head_), at(keys_, j), dim_);
      load(row(args_.values, first_ + j, kv_head_), at(values_, j), dim_);
    }
    int const ratio = args_.shape.query_heads / args_.shape.kv_heads;
    for (int head = kv_head_ * ratio; head < (kv_head_ + 1) * ratio; ++head) {
      for (int i = 0; i < tokens_; ++i) add_query(head, i);
    }
    for (int j = 0; j < tokens_; ++j) {
      store(at(key_sums_, j), args_.shape.softmax_scale, row(args_.key_gradient, first_ + j, kv_head_), dim_);
      store(at(value_sums_, j), 1, row(args_.value_gradient, first_ + j, kv_head_), dim_);
    }
  }

 private:
  static constexpr int largest_dim = 128;

  float* at(std::vector<float>& rows, int token) const { return &rows[std::size_t(token) * dim_]; }

  void add_query(int head, int i) {
    float query[largest_dim], gradient[largest_dim], out[largest_dim], sums[largest_dim] = {};
    load(row(args_.queries, first_ + i, head), query, dim_);
    load(row(args_.out_gradient, first_ + i, head), gradient, dim_);
    load(row(args_.out, first_ + i, head), out, dim_);
    float const lse = args_.lse[int64_t{first_ + i} * args_.shape.query_heads + head];
    float const mean = dot(gradient, out, dim_);
    for (int j = 0; j <= i; ++j) {
      float const score = dot(query, at(keys_, j), dim_);
      float const weight = std::exp(subtract(multiply(score, args_.shape.softmax_scale), lse));
      float const score_gradient = multiply(weight, subtract(dot(gradient, at(values_, j), dim_), mean));
      add_scaled(score_gradient, at(keys_, j), sums, dim_);
      add_scaled(score_gradient, query, at(key_sums_, j), dim_);
      add_scaled(weight, gradient, at(value_sums_, j), dim_);
    }
    store(sums, args_.shape.softmax_scale, row(args_.query_gradient, first_ + i, head), dim_);
  }

  Args const& args_;
  int kv_head_, dim_, first_, tokens_;
  std::vector<float> keys_, values_, key_sums_, value_sums_;
};

} // namespace

tik_status attention_full_backward(Args const* args) {
  if (auto bad = attention_backward::validate(args)) return Error::keep(std::move(bad));
  if (auto bad = check_offsets(*args)) return Error::keep(std::move(bad));
  for (int sequence = 0; sequence < args->batch; ++sequence) {
    for (int kv_head = 0; kv_head < args->shape.kv_heads; ++kv_head) HeadGradients(*args, sequence, kv_head).compute();
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
