// Every way in which a request can contradict the contracts of dense linear and of the head, as a change to a good request.
// Pointers lead nowhere: a request that is not refused before any work faults.
#include <cstdint>
#include <limits>

#include "operators/check/dense_cases.h"
#include "operators/language_model_head/workspace.h"

namespace tik::operators::check {
namespace {

void* somewhere() { return reinterpret_cast<void*>(std::uintptr_t{0x7000000}); }
template <typename Pointer>
void misalign(Pointer*& pointer) {
  pointer = reinterpret_cast<Pointer*>(std::uintptr_t{0x7000002});
}
tik_rows rows(std::int64_t stride) { return {static_cast<tik_bf16*>(somewhere()), stride, 0}; }

// One line for a function: each change makes the good request bad, and the sentence must hold the name of what was changed.
template <typename Args>
class DenseRefusals {
 public:
  DenseRefusals(Device& device, Results& results, char const* name, tik_status (*function)(Args const*), Args good)
      : device_(device), results_(results), function_(function), good_(good) {
    good_.struct_bytes = sizeof(Args);
    results.begin(name, "refusals");
    expect(TIK_INVALID_ARGUMENT, "args", function(nullptr));
    refused("struct_bytes", [](Args& args) { args.struct_bytes -= 4; });
  }

  template <typename Change>
  void refused(char const* names, Change change, tik_status status = TIK_INVALID_ARGUMENT) {
    Args changed = good_;
    change(changed);
    expect(status, names, function_(&changed));
  }

 private:
  void expect(tik_status wanted, std::string const& names, tik_status status) {
    std::string const sentence = device_.functions().last_error();
    results_.record(status == wanted && sentence.find(names) != std::string::npos, "a bad " + names,
                    "status " + std::to_string(status) + ", sentence: " + sentence);
  }

  Device& device_;
  Results& results_;
  tik_status (*function_)(Args const*);
  Args good_;
};

void refuse_linear(Device& device, Results& results, char const* name, tik_status (*function)(tik_linear_args const*)) {
  tik_linear_args good{};
  good.tokens = 4, good.in_features = 64, good.out_features = 32;
  good.x = rows(64), good.weight = rows(64), good.out = somewhere(), good.out_stride = 32;
  DenseRefusals<tik_linear_args> refusals(device, results, name, function, good);
  refusals.refused("tokens", [](auto& args) { args.tokens = 0; });
  refusals.refused("tokens", [](auto& args) { args.tokens = 65537; });
  refusals.refused("in_features", [](auto& args) { args.in_features = 72; });
  refusals.refused("in_features", [](auto& args) { args.in_features = -16; });
  refusals.refused("out_features", [](auto& args) { args.out_features = 12; });
  refusals.refused("out_features", [](auto& args) { args.out_features = (1 << 20) + 8; });
  refusals.refused("x.data", [](auto& args) { args.x.data = nullptr; });
  refusals.refused("x.data", [](auto& args) { misalign(args.x.data); });
  refusals.refused("x.token_stride", [](auto& args) { args.x.token_stride = 68; });
  refusals.refused("x.token_stride", [](auto& args) { args.x.token_stride = 56; });
  refusals.refused("weight.data", [](auto& args) { misalign(args.weight.data); });
  refusals.refused("weight.token_stride", [](auto& args) { args.weight.token_stride = 0; });
  refusals.refused("bias", [](auto& args) { misalign(args.bias); });
  refusals.refused("out is", [](auto& args) { args.out = nullptr; });
  refusals.refused("out_stride", [](auto& args) { args.out_stride = 24; });
  refusals.refused("out_type", [](auto& args) { args.out_type = 2; });
  refusals.refused("weight_settled", [](auto& args) { args.weight_settled = 2; });
  refusals.refused("workspace", [](auto& args) { misalign(args.workspace); });
}

void refuse_linear_plan(Device& device, Results& results) {
  static char text[TIK_LINEAR_PLAN_BYTES];
  tik_linear_plan_args good{};
  good.call.struct_bytes = sizeof good.call;
  good.call.tokens = 4, good.call.in_features = 64, good.call.out_features = 32;
  good.call.x = rows(64), good.call.weight = rows(64), good.call.out = somewhere(), good.call.out_stride = 32;
  good.text = text;
  DenseRefusals<tik_linear_plan_args> refusals(device, results, "linear_plan", device.functions().linear_plan, good);
  refusals.refused("tik_linear_args", [](auto& args) { args.call.struct_bytes = 0; });
  refusals.refused("in_features", [](auto& args) { args.call.in_features = 72; });
  refusals.refused("out is", [](auto& args) { args.call.out = nullptr; });
  refusals.refused("text", [](auto& args) { args.text = nullptr; });
}

void refuse_linear_backward(Device& device, Results& results) {
  tik_linear_backward_args good{};
  good.tokens = 4, good.in_features = 64, good.out_features = 32;
  good.x = rows(64), good.weight = rows(64), good.out_gradient = rows(32);
  good.x_gradient = {static_cast<tik_bf16*>(somewhere()), 64, 0};
  good.weight_gradient = static_cast<float*>(somewhere()), good.bias_gradient = static_cast<float*>(somewhere());
  DenseRefusals<tik_linear_backward_args> refusals(device, results, "linear_backward", device.functions().linear_backward,
                                                   good);
  refusals.refused("in_features", [](auto& args) { args.in_features = 8; });
  refusals.refused("out_gradient.data", [](auto& args) { args.out_gradient.data = nullptr; });
  refusals.refused("out_gradient.token_stride", [](auto& args) { args.out_gradient.token_stride = 16; });
  refusals.refused("weight.data", [](auto& args) { args.weight.data = nullptr; });
  refusals.refused("x.data", [](auto& args) { args.x.data = nullptr; });
  refusals.refused("x_gradient.token_stride", [](auto& args) { args.x_gradient.token_stride = 8; });
  refusals.refused("weight_gradient", [](auto& args) { misalign(args.weight_gradient); });
  refusals.refused("bias_gradient", [](auto& args) { misalign(args.bias_gradient); });
}

// What the forward calls of the head share.
template <typename Refusals>
void refuse_outputs(Refusals& refusals) {
  refusals.refused("vocabulary", [](auto& args) { args.vocabulary = 100; });
  refusals.refused("temperature", [](auto& args) { args.temperature = 0; });
  refusals.refused("temperature", [](auto& args) { args.temperature = std::numeric_limits<float>::quiet_NaN(); });
  refusals.refused("temperature", [](auto& args) { args.temperature = std::numeric_limits<float>::infinity(); });
  refusals.refused("outputs.targets", [](auto& args) { args.outputs.targets = nullptr; });
  refusals.refused("outputs.log_probability", [](auto& args) { args.outputs.log_probability = nullptr; });
  refusals.refused("outputs.entropy", [](auto& args) { misalign(args.outputs.entropy); });
  refusals.refused("outputs.log_sum", [](auto& args) { misalign(args.outputs.log_sum); });
  refusals.refused(
      "workspace", [](auto& args) { args.workspace = nullptr; }, TIK_WORKSPACE_TOO_SMALL);
  refusals.refused(
      "workspace_bytes", [](auto& args) { --args.workspace_bytes; }, TIK_WORKSPACE_TOO_SMALL);
}

tik_log_probability_outputs good_outputs() {
  return {static_cast<std::int32_t*>(somewhere()), static_cast<float*>(somewhere()), nullptr, nullptr};
}

void refuse_head(Device& device, Results& results, char const* name,
                 tik_status (*function)(tik_language_model_head_args const*)) {
  tik_language_model_head_args good{};
  good.tokens = 4, good.in_features = 64, good.vocabulary = 1032, good.temperature = 1;
  good.x = rows(64), good.weight = rows(64), good.outputs = good_outputs();
  good.workspace = somewhere(), good.workspace_bytes = language_model_head::forward_regions(4, 1032).bytes;
  DenseRefusals<tik_language_model_head_args> refusals(device, results, name, function, good);
  refuse_outputs(refusals);
  refusals.refused("tokens", [](auto& args) { args.tokens = -1; });
  refusals.refused("x.data", [](auto& args) { misalign(args.x.data); });
  refusals.refused("weight.token_stride", [](auto& args) { args.weight.token_stride = 60; });
}

void refuse_token_log_probability(Device& device, Results& results) {
  tik_token_log_probability_args good{};
  good.tokens = 4, good.vocabulary = 1032, good.temperature = 1;
  good.logits = static_cast<float*>(somewhere()), good.logits_stride = 1032, good.outputs = good_outputs();
  good.workspace = somewhere(), good.workspace_bytes = language_model_head::softmax_regions(4, 1032).bytes;
  DenseRefusals<tik_token_log_probability_args> refusals(device, results, "token_log_probability",
                                                         device.functions().token_log_probability, good);
  refuse_outputs(refusals);
  refusals.refused("logits", [](auto& args) { misalign(args.logits); });
  refusals.refused("logits_stride", [](auto& args) { args.logits_stride = 1024; });
}

void refuse_head_backward(Device& device, Results& results) {
  tik_language_model_head_backward_args good{};
  good.tokens = 4, good.in_features = 64, good.vocabulary = 1032, good.temperature = 1;
  good.x = rows(64), good.weight = rows(64), good.targets = static_cast<std::int32_t*>(somewhere());
  good.log_sum = good.log_probability_gradient = static_cast<float*>(somewhere());
  good.x_gradient = {static_cast<tik_bf16*>(somewhere()), 64, 0};
  good.workspace = somewhere(), good.workspace_bytes = language_model_head::backward_regions(4, 64, 1032).bytes;
  DenseRefusals<tik_language_model_head_backward_args> refusals(device, results, "language_model_head_backward",
                                                                device.functions().language_model_head_backward, good);
  refusals.refused("targets", [](auto& args) { args.targets = nullptr; });
  refusals.refused("log_sum", [](auto& args) { args.log_sum = nullptr; });
  refusals.refused("entropy", [](auto& args) { args.entropy_gradient = args.log_sum; });
  refusals.refused("log_probability_gradient", [](auto& args) { args.log_probability_gradient = nullptr; });
  refusals.refused("x_gradient.data", [](auto& args) { misalign(args.x_gradient.data); });
  refusals.refused("weight_gradient", [](auto& args) { misalign(args.weight_gradient); });
  refusals.refused(
      "workspace_bytes", [](auto& args) { --args.workspace_bytes; }, TIK_WORKSPACE_TOO_SMALL);
}

} // namespace

void check_dense_refusals(Device& device, Results& results) {
  refuse_linear(device, results, "linear", device.functions().linear);
  refuse_linear(device, results, "linear_prepare", device.functions().linear_prepare);
  refuse_linear_plan(device, results);
  refuse_linear_backward(device, results);
  refuse_head(device, results, "language_model_head", device.functions().language_model_head);
  refuse_head(device, results, "language_model_head_prepare", device.functions().language_model_head_prepare);
  refuse_token_log_probability(device, results);
  refuse_head_backward(device, results);
}

} // namespace tik::operators::check
