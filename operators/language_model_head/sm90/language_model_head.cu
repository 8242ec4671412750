// The head on Hopper: chunks of logits by dense linear, then the softmax kernels on them.
#include "operators/functions.h"
#include "operators/language_model_head/sm90/softmax_kernel.cuh"
#include "operators/language_model_head/validate.h"
#include "operators/linear/sm90/products.h"

namespace tik::operators::sm90 {
namespace {

unsigned blocks_of(int64_t size, int64_t block) { return static_cast<unsigned>((size + block - 1) / block); }

template <typename Pointer>
Pointer* at(void* workspace, int64_t offset) {
  return reinterpret_cast<Pointer*>(static_cast<char*>(workspace) + offset);
}

// The product that makes the logits of a chunk: `tokens` rows from `token`, `columns` of the vocabulary from `column`.
template <typename Args>
tik_linear_args logit_product(Args const& args, int token, int tokens, int column, int columns, float* logits, void* workspace,
                              bool settled) {
  tik_linear_args product{};
  product.struct_bytes = sizeof product;
  product.tokens = tokens;
  product.in_features = args.in_features;
  product.out_features = columns;
  product.x = {args.x.data + token * args.x.token_stride, args.x.token_stride, 0};
  product.weight = {args.weight.data + column * args.weight.token_stride, args.weight.token_stride, 0};
  product.out = logits;
  product.out_stride = columns;
  product.out_type = TIK_FP32;
  product.weight_settled = settled;
  product.workspace = workspace;
  product.stream = args.stream;
  return product;
}

tik_log_probability_outputs outputs_from(tik_log_probability_outputs const& outputs, int token) {
  return {outputs.targets + token, outputs.log_probability + token, outputs.entropy ? outputs.entropy + token : nullptr,
          outputs.log_sum ? outputs.log_sum + token : nullptr};
}

// Where the softmax of some tokens keeps its sums.
struct SoftmaxMemory {
  head::Sums* sums;
  float* target_z;

  SoftmaxMemory(void* memory, int tokens, int vocabulary) {
    auto const regions = head::softmax_regions(tokens, vocabulary);
    sums = reinterpret_cast<head::Sums*>(static_cast<char*>(memory) + regions.sums);
    target_z = reinterpret_cast<float*>(static_cast<char*>(memory) + regions.target_z);
  }
};

cudaError_t launch_part_sums(LogitChunk const& chunk, int32_t const* targets, int vocabulary, SoftmaxMemory const& memory,
                             void* stream) {
  dim3 const grid(blocks_of(head::parts_of(chunk.columns) * chunk.tokens, softmax_warps));
  return launch_overlapped(part_sums_kernel, grid, 32 * softmax_warps, stream, chunk, targets,
                           static_cast<int>(head::parts_of(vocabulary)), memory.sums, memory.target_z);
}

cudaError_t launch_finish(SoftmaxMemory const& memory, int tokens, int vocabulary, tik_log_probability_outputs const& outputs,
                          void* stream) {
  return launch_overlapped(finish_softmax_kernel, dim3(blocks_of(tokens, softmax_warps)), 32 * softmax_warps, stream,
                           static_cast<head::Sums const*>(memory.sums), static_cast<float const*>(memory.target_z), tokens,
                           static_cast<int>(head::parts_of(vocabulary)), vocabulary, outputs);
}

// The tokens from `token` that are computed together.
std::optional<Refusal> forward_tokens(tik_language_model_head_args const& args, int token, int tokens) {
  char const* const launching = "launching tik_language_model_head";
  auto const regions = head::forward_regions(args.tokens, args.vocabulary);
  int const columns_at_once = head::chunk_of(args.tokens, args.vocabulary).columns;
  auto* const logits = at<float>(args.workspace, regions.logits);
  SoftmaxMemory const memory(at<void>(args.workspace, regions.softmax), tokens, args.vocabulary);
  tik_log_probability_outputs const outputs = outputs_from(args.outputs, token);
  for (int column = 0; column < args.vocabulary; column += columns_at_once) {
    int const columns = std::min(columns_at_once, args.vocabulary - column);
    // From the second chunk on, this call's own kernels run before the product, and they write no weight.
    bool const settled = args.weight_settled || column > 0;
    if (auto bad = launch_product(
            logit_product(args, token, tokens, column, columns, logits, at<void>(args.workspace, regions.product), settled)))
      return bad;
    LogitChunk const chunk{logits, columns, tokens, column, columns, 1 / args.temperature};
    if (auto bad = device_error(launching, launch_part_sums(chunk, outputs.targets, args.vocabulary, memory, args.stream)))
      return bad;
  }
  return device_error(launching, launch_finish(memory, tokens, args.vocabulary, outputs, args.stream));
}

struct BackwardChunk {
  int token, tokens, column, columns;
};

// The gradients that a chunk of logits gives: to x_gradient [tokens, in_features] in fp32, and to the weight's.
std::optional<Refusal> launch_gradients(tik_language_model_head_backward_args const& args, BackwardChunk const& chunk,
                                        tik_bf16 const* logit_gradients, float* x_gradient, void* workspace) {
  tik_linear_backward_args product{};
  product.tokens = chunk.tokens;
  product.in_features = args.in_features;
  product.out_features = chunk.columns;
  product.x = {args.x.data + chunk.token * args.x.token_stride, args.x.token_stride, 0};
  product.weight = {args.weight.data + chunk.column * args.weight.token_stride, args.weight.token_stride, 0};
  product.out_gradient = {logit_gradients, chunk.columns, 0};
  product.workspace = workspace;
  product.stream = args.stream;
  if (args.x_gradient.data) {
    if (auto bad = launch_x_gradient_onto(product, x_gradient, chunk.column > 0)) return bad;
  }
  if (args.weight_gradient == nullptr) return std::nullopt;
  product.weight_gradient = args.weight_gradient + int64_t{chunk.column} * args.in_features;
  return launch_weight_gradient(product);
}

std::optional<Refusal> backward_chunk(tik_language_model_head_backward_args const& args, BackwardChunk const& place,
                                      head::BackwardRegions const& regions) {
  auto* const logits = at<float>(args.workspace, regions.logits);
  auto* const gradients = at<tik_bf16>(args.workspace, regions.logit_gradients);
  if (auto bad = launch_product(logit_product(args, place.token, place.tokens, place.column, place.columns, logits,
                                              at<void>(args.workspace, regions.product), place.column > 0)))
    return bad;
  LogitChunk const chunk{logits, place.columns, place.tokens, place.column, place.columns, 1 / args.temperature};
  RowGradients const rows{
      args.targets + place.token, args.log_sum + place.token, args.entropy_gradient ? args.entropy + place.token : nullptr,
      args.log_probability_gradient + place.token, args.entropy_gradient ? args.entropy_gradient + place.token : nullptr};
  dim3 const grid(blocks_of(place.columns, 4 * 256), place.tokens);
  if (auto bad = device_error("launching tik_language_model_head_backward",
                              launch_overlapped(logit_gradients_kernel, grid, 256, args.stream, chunk, rows, gradients)))
    return bad;
  return launch_gradients(args, place, gradients, at<float>(args.workspace, regions.x_gradient),
                          at<void>(args.workspace, regions.product));
}

std::optional<Refusal> backward_tokens(tik_language_model_head_backward_args const& args, int token, int tokens) {
  auto const regions = head::backward_regions(args.tokens, args.in_features, args.vocabulary);
  int const columns_at_once = head::chunk_of(args.tokens, args.vocabulary).columns;
  for (int column = 0; column < args.vocabulary; column += columns_at_once) {
    int const columns = std::min(columns_at_once, args.vocabulary - column);
    if (auto bad = backward_chunk(args, {token, tokens, column, columns}, regions)) return bad;
  }
  if (!args.x_gradient.data) return std::nullopt;
  dim3 const grid(blocks_of(args.in_features, 4 * 256), tokens);
  return device_error(
      "launching tik_language_model_head_backward",
      launch_overlapped(round_rows_kernel, grid, 256, args.stream, at<float const>(args.workspace, regions.x_gradient),
                        args.in_features, args.x_gradient.data + token * args.x_gradient.token_stride,
                        args.x_gradient.token_stride));
}

// Calls run(token, tokens) for the tokens of each chunk, until one refuses.
template <typename Run>
std::optional<Refusal> for_tokens(int tokens, Run run) {
  for (int token = 0; token < tokens; token += head::chunk_tokens) {
    if (auto bad = run(token, std::min(head::chunk_tokens, tokens - token))) return bad;
  }
  return std::nullopt;
}

std::optional<Refusal> prepare(tik_language_model_head_args const& args) {
  int const columns_at_once = head::chunk_of(args.tokens, args.vocabulary).columns;
  int const last_columns = (args.vocabulary - 1) % columns_at_once + 1;
  auto const regions = head::forward_regions(args.tokens, args.vocabulary);
  auto* const logits = at<float>(args.workspace, regions.logits);
  auto* const workspace = at<void>(args.workspace, regions.product);
  return for_tokens(args.tokens, [&](int token, int tokens) -> std::optional<Refusal> {
    if (token > 0 && token + tokens < args.tokens) return std::nullopt; // as the first
    if (auto bad = prepare_product(logit_product(args, token, tokens, 0, columns_at_once, logits, workspace, true))) return bad;
    return prepare_product(
        logit_product(args, token, tokens, args.vocabulary - last_columns, last_columns, logits, workspace, true));
  });
}

} // namespace

tik_status language_model_head(tik_language_model_head_args const* args) {
  auto bad = head::validate("tik_language_model_head", args);
  if (!bad) bad = check_device();
  if (!bad) bad = for_tokens(args->tokens, [&](int token, int tokens) { return forward_tokens(*args, token, tokens); });
  return Error::keep(std::move(bad));
}

tik_status language_model_head_prepare(tik_language_model_head_prepare_args const* args) {
  auto bad = head::validate("tik_language_model_head_prepare", args);
  if (!bad) bad = check_device();
  if (!bad) bad = prepare(*args);
  return Error::keep(std::move(bad));
}

tik_status token_log_probability(tik_token_log_probability_args const* args) {
  return run("launching tik_token_log_probability", head::validate(args), [&] {
    SoftmaxMemory const memory(args->workspace, args->tokens, args->vocabulary);
    LogitChunk const chunk{args->logits, args->logits_stride, args->tokens, 0, args->vocabulary, 1 / args->temperature};
    cudaError_t const error = launch_part_sums(chunk, args->outputs.targets, args->vocabulary, memory, args->stream);
    if (error != cudaSuccess) return error;
    return launch_finish(memory, args->tokens, args->vocabulary, args->outputs, args->stream);
  });
}

tik_status language_model_head_backward(tik_language_model_head_backward_args const* args) {
  auto bad = head::validate(args);
  if (!bad) bad = check_device();
  if (!bad) bad = for_tokens(args->tokens, [&](int token, int tokens) { return backward_tokens(*args, token, tokens); });
  return Error::keep(std::move(bad));
}

} // namespace tik::operators::sm90
