// One token at a time and one part of the vocabulary at a time: the logits of a part stay on the stack.
#include <algorithm>
#include <limits>

#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/language_model_head/validate.h"
#include "operators/linear/cpu/chain.h"

namespace tik::operators::cpu {
namespace {

using namespace language_model_head;

// The sums of the first `columns` z of a part.
Sums part_sums(float const* z, int columns) {
  Sums sums{*std::max_element(z, z + columns), 0, 0};
  float weights[chains] = {}, weighted[chains] = {};
  for (int c = 0; c < columns; ++c) {
    int const chain = c % round_columns / chain_columns;
    add_column(below(z[c], sums.maximum), weights[chain], weighted[chain]);
  }
  sums.weights = fold_halves(weights);
  sums.weighted = fold_halves(weighted);
  return sums;
}

// The softmax of one token, fed part by part.
class Softmax {
 public:
  Softmax(Sums* parts, int target, int vocabulary) : parts_(parts), target_(target), vocabulary_(vocabulary) {}

  void absorb(float const* z, int part, int columns) {
    parts_[part] = part_sums(z, columns);
    count_ = part + 1;
    int const first = part * part_columns;
    if (target_ >= first && target_ < first + columns) target_z_ = z[target_ - first];
  }

  void finish(tik_log_probability_outputs const& outputs, int64_t token) const {
    Sums all{-std::numeric_limits<float>::infinity(), 0, 0};
    for (int p = 0; p < count_; ++p) all.maximum = larger(parts_[p].maximum, all.maximum);
    float weights[chains] = {}, weighted[chains] = {};
    for (int p = 0; p < count_; ++p) add_part(parts_[p], all.maximum, weights[p % chains], weighted[p % chains]);
    all.weights = fold_halves(weights);
    all.weighted = fold_halves(weighted);
    auto const row = language_model_head::finish(all, target_z_);
    outputs.log_probability[token] = log_probability_of(row, target_, vocabulary_);
    if (outputs.entropy) outputs.entropy[token] = row.entropy;
    if (outputs.log_sum) outputs.log_sum[token] = row.log_sum;
  }

 private:
  Sums* parts_;
  int target_;
  int vocabulary_;
  int count_ = 0;
  float target_z_ = 0;
};

int columns_of(int part, int vocabulary) { return std::min(part_columns, vocabulary - part * part_columns); }

// The z of a part of one token.
void part_z(tik_bf16 const* x, tik_rows const& weight, int in_features, int part, int columns, float inverse_temperature,
            float* z) {
  tik_bf16 const* const rows[1] = {x};
  for (int c = 0; c < columns; ++c) {
    float sum[1];
    chain<1>(rows, row(weight, int64_t{part} * part_columns + c), in_features, sum);
    z[c] = multiply(sum[0], inverse_temperature);
  }
}

void backward_token(tik_language_model_head_backward_args const& args, int64_t token, float* x_gradient) {
  int const target = args.targets[token];
  RowGradient const gradient{args.log_sum[token], args.entropy_gradient ? args.entropy[token] : 0,
                             target < 0 ? 0 : args.log_probability_gradient[token],
                             args.entropy_gradient ? args.entropy_gradient[token] : 0, 1 / args.temperature};
  tik_bf16 const* const x = row(args.x, token);
  std::fill_n(x_gradient, args.in_features, 0.0f);
  for (int part = 0; part < parts_of(args.vocabulary); ++part) {
    float z[part_columns];
    int const columns = columns_of(part, args.vocabulary);
    part_z(x, args.weight, args.in_features, part, columns, gradient.inverse_temperature, z);
    for (int c = 0; c < columns; ++c) {
      int64_t const v = int64_t{part} * part_columns + c;
      float const d = to_float(to_bf16(logit_gradient(gradient, z[c], v == target)));
      tik_bf16 const* const weight = row(args.weight, v);
      for (int k = 0; k < args.in_features; ++k) x_gradient[k] = multiply_add(d, to_float(weight[k]), x_gradient[k]);
      if (!args.weight_gradient) continue;
      float* const weight_gradient = args.weight_gradient + v * args.in_features;
      for (int k = 0; k < args.in_features; ++k) weight_gradient[k] = multiply_add(d, to_float(x[k]), weight_gradient[k]);
    }
  }
  if (args.x_gradient.data) std::transform(x_gradient, x_gradient + args.in_features, row(args.x_gradient, token), to_bf16);
}

} // namespace

tik_status language_model_head(tik_language_model_head_args const* args) {
  if (auto bad = validate("tik_language_model_head", args)) return Error::keep(std::move(bad));
  ForwardRegions const regions = forward_regions(args->tokens, args->vocabulary);
  auto* const parts = reinterpret_cast<Sums*>(static_cast<char*>(args->workspace) + regions.softmax);
  for (int64_t token = 0; token < args->tokens; ++token) {
    Softmax softmax(parts, args->outputs.targets[token], args->vocabulary);
    for (int part = 0; part < parts_of(args->vocabulary); ++part) {
      float z[part_columns];
      int const columns = columns_of(part, args->vocabulary);
      part_z(row(args->x, token), args->weight, args->in_features, part, columns, 1 / args->temperature, z);
      softmax.absorb(z, part, columns);
    }
    softmax.finish(args->outputs, token);
  }
  return TIK_OK;
}

tik_status language_model_head_prepare(tik_language_model_head_prepare_args const* args) {
  return Error::keep(validate("tik_language_model_head_prepare", args));
}

tik_status token_log_probability(tik_token_log_probability_args const* args) {
  if (auto bad = validate(args)) return Error::keep(std::move(bad));
  float const inverse_temperature = 1 / args->temperature;
  for (int64_t token = 0; token < args->tokens; ++token) {
    Softmax softmax(static_cast<Sums*>(args->workspace), args->outputs.targets[token], args->vocabulary);
    for (int part = 0; part < parts_of(args->vocabulary); ++part) {
      float z[part_columns];
      int const columns = columns_of(part, args->vocabulary);
      float const* const logits = args->logits + token * args->logits_stride + int64_t{part} * part_columns;
      for (int c = 0; c < columns; ++c) z[c] = multiply(logits[c], inverse_temperature);
      softmax.absorb(z, part, columns);
    }
    softmax.finish(args->outputs, token);
  }
  return TIK_OK;
}

tik_status language_model_head_backward(tik_language_model_head_backward_args const* args) {
  if (auto bad = validate(args)) return Error::keep(std::move(bad));
  BackwardRegions const regions = backward_regions(args->tokens, args->in_features, args->vocabulary);
  auto* const x_gradient = reinterpret_cast<float*>(static_cast<char*>(args->workspace) + regions.x_gradient);
  for (int64_t token = 0; token < args->tokens; ++token) backward_token(*args, token, x_gradient);
  return TIK_OK;
}

} // namespace tik::operators::cpu
