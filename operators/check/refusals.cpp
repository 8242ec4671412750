// Every way in which a request can contradict a contract, as a change to a good request. Pointers lead nowhere: a request that
// is not refused before any work faults.
#include <cmath>
#include <cstdint>

#include "operators/attention_backward/validate.h"
#include "operators/check/suite.h"

namespace tik::operators::check {
namespace {

template <typename Number>
Number* somewhere() {
  return reinterpret_cast<Number*>(std::uintptr_t{0x7000000});
}
template <typename Number>
Number* misaligned() {
  return reinterpret_cast<Number*>(std::uintptr_t{0x7000002});
}

tik_rows rows(std::int64_t token_stride, std::int64_t head_stride) {
  return {somewhere<tik_bf16>(), token_stride, head_stride};
}
tik_mutable_rows mutable_rows(std::int64_t token_stride, std::int64_t head_stride) {
  return {somewhere<tik_bf16>(), token_stride, head_stride};
}

// Records one line for a function: `change` makes a good request bad.
template <typename Args>
class Refusals {
 public:
  Refusals(Device& device, Results& results, char const* name, tik_status (*function)(Args const*), Args good)
      : device_(device), results_(results), function_(function), good_(good) {
    good_.struct_bytes = sizeof(Args);
    results.begin(name, "refusals");
    expect(TIK_INVALID_ARGUMENT, "args is NULL", "args", function(nullptr));
    refused("struct_bytes", [](Args& args) { args.struct_bytes -= 4; });
  }

  // The sentence must hold `names`.
  template <typename Change>
  void refused(char const* names, Change change, tik_status status = TIK_INVALID_ARGUMENT) {
    Args changed = good_;
    change(changed);
    expect(status, std::string("a bad ") + names, names, function_(&changed));
  }

 private:
  void expect(tik_status wanted, std::string const& label, std::string const& names, tik_status status) {
    std::string const sentence = device_.functions().last_error();
    bool const good = status == wanted && sentence.find(names) != std::string::npos;
    results_.record(good, label, "status " + std::to_string(status) + ", sentence: " + sentence);
  }

  Device& device_;
  Results& results_;
  tik_status (*function_)(Args const*);
  Args good_;
};

tik_kv_target good_target() {
  tik_kv_target target{};
  target.kv.layout = TIK_KV_PAGED;
  target.kv.page_size = 16;
  target.kv.keys = target.kv.values = somewhere<tik_bf16>();
  target.kv.page_stride = 16 * 256;
  target.kv.token_stride = 256;
  target.kv.head_stride = 128;
  target.kv.page_table = somewhere<std::int32_t>();
  target.kv.page_table_stride = 4;
  target.kv.page_count = 100;
  target.batch = 8;
  target.kv_length = 64;
  target.positions = somewhere<std::int32_t>();
  return target;
}

template <typename Args>
void refuse_targets(Refusals<Args>& refusals) {
  refusals.refused("kv.layout", [](Args& args) { args.target.kv.layout = TIK_KV_PACKED; });
  refusals.refused("kv.page_size", [](Args& args) { args.target.kv.page_size = 0; });
  refusals.refused("kv.page_table_stride", [](Args& args) { args.target.kv.page_table_stride = 3; });
  refusals.refused("kv.page_table", [](Args& args) { args.target.kv.page_table = nullptr; });
  refusals.refused("kv.page_count", [](Args& args) { args.target.kv.page_count = 0; });
  refusals.refused("kv.page_stride", [](Args& args) { args.target.kv.page_stride = 15 * 256; });
  refusals.refused("kv.keys", [](Args& args) { args.target.kv.keys = nullptr; });
  refusals.refused("kv.values", [](Args& args) { args.target.kv.values = misaligned<tik_bf16>(); });
  refusals.refused("kv.token_stride", [](Args& args) { args.target.kv.token_stride = 136; });
  refusals.refused("kv.head_stride", [](Args& args) { args.target.kv.head_stride = 64; });
  refusals.refused("kv.sequence_stride", [](Args& args) {
    args.target.kv.layout = TIK_KV_CONTIGUOUS;
    args.target.kv.sequence_stride = 63 * 256;
  });
  refusals.refused("target.batch", [](Args& args) { args.target.batch = 0; });
  refusals.refused("target.kv_length", [](Args& args) { args.target.kv_length = -1; });
  refusals.refused("target.settled", [](Args& args) { args.target.settled = 2; });
  refusals.refused("target.positions", [](Args& args) { args.target.positions = nullptr; });
  refusals.refused("target.sequences", [](Args& args) { args.tokens = 9; });
}

void refuse_rms_norm(Device& device, Results& results) {
  tik_rms_norm_args good{};
  good.tokens = 4;
  good.heads = 2;
  good.columns = 128;
  good.epsilon = 1e-6f;
  good.x = good.residual = rows(256, 128);
  good.weight = somewhere<tik_bf16>();
  good.sum = good.out = mutable_rows(256, 128);
  using Args = tik_rms_norm_args;
  Refusals<Args> refusals(device, results, "rms_norm", device.functions().rms_norm, good);
  refusals.refused("tokens", [](Args& args) { args.tokens = 0; });
  refusals.refused("heads", [](Args& args) { args.heads = -1; });
  refusals.refused("rows", [](Args& args) { args.tokens = 1 << 24, args.heads = 512; });
  refusals.refused("columns", [](Args& args) { args.columns = 100; });
  refusals.refused("columns", [](Args& args) { args.columns = 8200; });
  refusals.refused("epsilon", [](Args& args) { args.epsilon = 0; });
  refusals.refused("epsilon", [](Args& args) { args.epsilon = NAN; });
  refusals.refused("x.data", [](Args& args) { args.x.data = nullptr; });
  refusals.refused("x.data", [](Args& args) { args.x.data = misaligned<tik_bf16>(); });
  refusals.refused("x.token_stride", [](Args& args) { args.x.token_stride = 257; });
  refusals.refused("x.head_stride", [](Args& args) { args.x.head_stride = -128; });
  refusals.refused("residual.token_stride", [](Args& args) { args.residual.token_stride = 1; });
  refusals.refused("weight", [](Args& args) { args.weight = misaligned<tik_bf16>(); });
  refusals.refused("weight_settled", [](Args& args) { args.weight_settled = 2; });
  refusals.refused("sum.data", [](Args& args) { args.sum.data = nullptr; });
  refusals.refused("sum.data", [](Args& args) { args.residual.data = nullptr; });
  refusals.refused("out.data", [](Args& args) { args.out.data = nullptr; });
  refusals.refused("out.token_stride", [](Args& args) { args.out.token_stride = 248; });
}

void refuse_rms_norm_backward(Device& device, Results& results) {
  tik_rms_norm_backward_args good{};
  good.tokens = 4;
  good.heads = 1;
  good.columns = 128;
  good.epsilon = 1e-6f;
  good.x = good.out_gradient = good.sum_gradient = rows(128, 0);
  good.weight = somewhere<tik_bf16>();
  good.x_gradient = mutable_rows(128, 0);
  good.weight_gradient = somewhere<float>();
  good.workspace = somewhere<void>();
  good.workspace_bytes = 1 << 20;
  using Args = tik_rms_norm_backward_args;
  Refusals<Args> refusals(device, results, "rms_norm_backward", device.functions().rms_norm_backward, good);
  refusals.refused("tokens", [](Args& args) { args.tokens = -4; });
  refusals.refused("columns", [](Args& args) { args.columns = 4; });
  refusals.refused("epsilon", [](Args& args) { args.epsilon = INFINITY; });
  refusals.refused("x.data", [](Args& args) { args.x.data = nullptr; });
  refusals.refused("out_gradient.token_stride", [](Args& args) { args.out_gradient.token_stride = 12; });
  refusals.refused("sum_gradient.data", [](Args& args) { args.sum_gradient.data = misaligned<tik_bf16>(); });
  refusals.refused("x_gradient.token_stride", [](Args& args) { args.x_gradient.token_stride = 0; });
  refusals.refused("weight_gradient", [](Args& args) { args.weight_gradient = misaligned<float>(); });
  refusals.refused(
      "workspace", [](Args& args) { args.workspace = nullptr; }, TIK_WORKSPACE_TOO_SMALL);
  refusals.refused(
      "workspace_bytes", [](Args& args) { args.workspace_bytes = 512; }, TIK_WORKSPACE_TOO_SMALL);
  refusals.refused("workspace", [](Args& args) { args.workspace = misaligned<void>(); });
}

void refuse_rotary(Device& device, Results& results) {
  tik_rotary_args good{};
  good.tokens = 4;
  good.query_heads = 4;
  good.key_heads = 2;
  good.head_dim = 128;
  good.table_positions = 100;
  good.table = somewhere<float>();
  good.positions = somewhere<std::int32_t>();
  good.queries = rows(512, 128);
  good.keys = rows(256, 128);
  good.queries_out = mutable_rows(512, 128);
  good.keys_out = mutable_rows(256, 128);
  using Args = tik_rotary_args;
  Refusals<Args> refusals(device, results, "rotary", device.functions().rotary, good);
  refusals.refused("tokens", [](Args& args) { args.tokens = 0; });
  refusals.refused("query_heads", [](Args& args) { args.query_heads = 0; });
  refusals.refused("key_heads", [](Args& args) { args.key_heads = -1; });
  refusals.refused("head_dim", [](Args& args) { args.head_dim = 96; });
  refusals.refused("inverse", [](Args& args) { args.inverse = 2; });
  refusals.refused("settled", [](Args& args) { args.settled = -1; });
  refusals.refused("table_positions", [](Args& args) { args.table_positions = 0; });
  refusals.refused("table", [](Args& args) { args.table = nullptr; });
  refusals.refused("positions", [](Args& args) { args.positions = nullptr; });
  refusals.refused("queries.token_stride", [](Args& args) { args.queries.token_stride = 4; });
  refusals.refused("keys.data", [](Args& args) { args.keys.data = nullptr; });
  refusals.refused("queries_out.token_stride", [](Args& args) { args.queries_out.token_stride = 384; });
  refusals.refused("keys_out.data", [](Args& args) { args.keys_out.data = misaligned<tik_bf16>(); });
}

void refuse_rotary_table(Device& device, Results& results) {
  tik_rotary_table_args good{};
  good.positions = 10;
  good.head_dim = 64;
  good.scaling = TIK_ROTARY_YARN;
  good.base = 1e6;
  good.factor = 4;
  good.original_positions = 32768;
  good.beta_fast = 32;
  good.beta_slow = 1;
  good.table = somewhere<float>();
  using Args = tik_rotary_table_args;
  Refusals<Args> refusals(device, results, "rotary_table", device.functions().rotary_table, good);
  refusals.refused("positions", [](Args& args) { args.positions = 0; });
  refusals.refused("head_dim", [](Args& args) { args.head_dim = 80; });
  refusals.refused("scaling", [](Args& args) { args.scaling = 7; });
  refusals.refused("base", [](Args& args) { args.base = 1; });
  refusals.refused("factor", [](Args& args) { args.factor = 0.5; });
  refusals.refused("original_positions", [](Args& args) { args.original_positions = 0; });
  refusals.refused("beta_fast", [](Args& args) { args.beta_fast = 0.5; });
  refusals.refused("attention_factor", [](Args& args) { args.attention_factor = -1; });
  refusals.refused("table", [](Args& args) { args.table = nullptr; });
}

void refuse_cache_writes(Device& device, Results& results) {
  tik_kv_write_args write{};
  write.tokens = 8;
  write.kv_heads = 2;
  write.head_dim = 128;
  write.keys = write.values = rows(256, 128);
  write.target = good_target();
  Refusals<tik_kv_write_args> writes(device, results, "kv_write", device.functions().kv_write, write);
  writes.refused("tokens", [](auto& args) { args.tokens = 0; });
  writes.refused("kv_heads", [](auto& args) { args.kv_heads = 0; });
  writes.refused("head_dim", [](auto& args) { args.head_dim = 32; });
  writes.refused("keys.data", [](auto& args) { args.keys.data = nullptr; });
  writes.refused("values.head_stride", [](auto& args) { args.values.head_stride = 3; });
  refuse_targets(writes);

  tik_qk_norm_rope_kv_write_args fused{};
  fused.tokens = 8;
  fused.query_heads = 4;
  fused.kv_heads = 2;
  fused.head_dim = 128;
  fused.epsilon = 1e-6f;
  fused.queries = rows(512, 128);
  fused.keys = fused.values = rows(256, 128);
  fused.query_weight = fused.key_weight = somewhere<tik_bf16>();
  fused.table_positions = 100;
  fused.table = somewhere<float>();
  fused.queries_out = mutable_rows(512, 128);
  fused.target = good_target();
  Refusals<tik_qk_norm_rope_kv_write_args> all(device, results, "qk_norm_rope_kv_write",
                                               device.functions().qk_norm_rope_kv_write, fused);
  all.refused("query_heads", [](auto& args) { args.query_heads = 0; });
  all.refused("kv_heads", [](auto& args) { args.kv_heads = 5000; });
  all.refused("head_dim", [](auto& args) { args.head_dim = 256; });
  all.refused("epsilon", [](auto& args) { args.epsilon = -1; });
  all.refused("query_weight", [](auto& args) { args.query_weight = nullptr; });
  all.refused("key_weight", [](auto& args) { args.key_weight = misaligned<tik_bf16>(); });
  all.refused("values.data", [](auto& args) { args.values.data = nullptr; });
  all.refused("table", [](auto& args) { args.table = nullptr; });
  all.refused("queries_out.token_stride", [](auto& args) { args.queries_out.token_stride = 128; });
  refuse_targets(all);
}

void refuse_swiglu(Device& device, Results& results) {
  tik_swiglu_args forward{};
  forward.tokens = 4;
  forward.columns = 64;
  forward.gate = forward.up = rows(128, 0);
  forward.out = mutable_rows(64, 0);
  Refusals<tik_swiglu_args> refusals(device, results, "swiglu", device.functions().swiglu, forward);
  refusals.refused("tokens", [](auto& args) { args.tokens = 0; });
  refusals.refused("columns", [](auto& args) { args.columns = 63; });
  refusals.refused("elements", [](auto& args) { args.tokens = 1 << 24, args.columns = 65536; });
  refusals.refused("gate.data", [](auto& args) { args.gate.data = nullptr; });
  refusals.refused("up.token_stride", [](auto& args) { args.up.token_stride = 100; });
  refusals.refused("out.token_stride", [](auto& args) { args.out.token_stride = 56; });

  tik_swiglu_backward_args backward{};
  backward.tokens = 4;
  backward.columns = 64;
  backward.gate = backward.up = backward.out_gradient = rows(64, 0);
  backward.gate_gradient = backward.up_gradient = mutable_rows(64, 0);
  Refusals<tik_swiglu_backward_args> gradients(device, results, "swiglu_backward", device.functions().swiglu_backward,
                                               backward);
  gradients.refused("columns", [](auto& args) { args.columns = 0; });
  gradients.refused("out_gradient.data", [](auto& args) { args.out_gradient.data = nullptr; });
  gradients.refused("gate_gradient.data", [](auto& args) { args.gate_gradient.data = nullptr; });
  gradients.refused("up_gradient.token_stride", [](auto& args) { args.up_gradient.token_stride = 8; });
}

void refuse_embedding(Device& device, Results& results) {
  tik_embedding_args forward{};
  forward.tokens = 4;
  forward.columns = 64;
  forward.vocabulary = 10;
  forward.ids = somewhere<std::int32_t>();
  forward.table = rows(64, 0);
  forward.out = mutable_rows(64, 0);
  Refusals<tik_embedding_args> refusals(device, results, "embedding", device.functions().embedding, forward);
  refusals.refused("vocabulary", [](auto& args) { args.vocabulary = 0; });
  refusals.refused("ids", [](auto& args) { args.ids = nullptr; });
  refusals.refused("table.data", [](auto& args) { args.table.data = misaligned<tik_bf16>(); });
  refusals.refused("out.token_stride", [](auto& args) { args.out.token_stride = 7; });

  tik_embedding_backward_args backward{};
  backward.tokens = 4;
  backward.columns = 64;
  backward.vocabulary = 10;
  backward.ids = somewhere<std::int32_t>();
  backward.out_gradient = rows(64, 0);
  backward.table_gradient = somewhere<float>();
  backward.table_gradient_stride = 64;
  Refusals<tik_embedding_backward_args> gradients(device, results, "embedding_backward", device.functions().embedding_backward,
                                                  backward);
  gradients.refused("columns", [](auto& args) { args.columns = 12; });
  gradients.refused("out_gradient.data", [](auto& args) { args.out_gradient.data = nullptr; });
  gradients.refused("table_gradient", [](auto& args) { args.table_gradient = nullptr; });
  gradients.refused("table_gradient_stride", [](auto& args) { args.table_gradient_stride = 56; });
}

void refuse_attention_backward(Device& device, Results& results) {
  tik_attention_full_backward_args good{};
  good.batch = 2;
  good.tokens = 100;
  good.longest = 60;
  good.shape = {4, 2, 64, 0.125f};
  good.query_offsets = somewhere<std::int32_t>();
  good.queries = good.out = good.out_gradient = rows(256, 64);
  good.keys = good.values = rows(128, 64);
  good.lse = somewhere<float>();
  good.query_gradient = mutable_rows(256, 64);
  good.key_gradient = good.value_gradient = mutable_rows(128, 64);
  good.workspace = somewhere<void>();
  good.workspace_bytes = attention_backward::workspace_bytes(100, 4);
  Refusals<tik_attention_full_backward_args> refusals(device, results, "attention_full_backward",
                                                      device.functions().attention_full_backward, good);
  refusals.refused("batch", [](auto& args) { args.batch = 0; });
  refusals.refused("tokens", [](auto& args) { args.tokens = 0; });
  refusals.refused("longest", [](auto& args) { args.longest = 101; });
  refusals.refused("shape.query_heads", [](auto& args) { args.shape.query_heads = 3; });
  refusals.refused("shape.head_dim", [](auto& args) { args.shape.head_dim = 96; });
  refusals.refused("shape.softmax_scale", [](auto& args) { args.shape.softmax_scale = NAN; });
  refusals.refused("query_offsets", [](auto& args) { args.query_offsets = nullptr; });
  refusals.refused("queries.data", [](auto& args) { args.queries.data = misaligned<tik_bf16>(); });
  refusals.refused("keys.token_stride", [](auto& args) { args.keys.token_stride = 132; });
  refusals.refused("values.head_stride", [](auto& args) { args.values.head_stride = 60; });
  refusals.refused("out.data", [](auto& args) { args.out.data = nullptr; });
  refusals.refused("lse", [](auto& args) { args.lse = nullptr; });
  refusals.refused("out_gradient.data", [](auto& args) { args.out_gradient.data = nullptr; });
  refusals.refused("query_gradient.token_stride", [](auto& args) { args.query_gradient.token_stride = 64; });
  refusals.refused("key_gradient.data", [](auto& args) { args.key_gradient.data = nullptr; });
  refusals.refused("value_gradient.data", [](auto& args) { args.value_gradient.data = misaligned<tik_bf16>(); });
  refusals.refused(
      "workspace_bytes", [](auto& args) { --args.workspace_bytes; }, TIK_WORKSPACE_TOO_SMALL);
}

} // namespace

void check_refusals(Device& device, Results& results) {
  refuse_rms_norm(device, results);
  refuse_rms_norm_backward(device, results);
  refuse_rotary(device, results);
  refuse_rotary_table(device, results);
  refuse_cache_writes(device, results);
  refuse_swiglu(device, results);
  refuse_embedding(device, results);
  refuse_attention_backward(device, results);
}

} // namespace tik::operators::check
