// SwiGLU and its gradients on CPUs.
#include "operators/cpu/backend.h"
#include "operators/functions.h"
#include "operators/swiglu/arithmetic.h"
#include "operators/swiglu/validate.h"

namespace tik::operators::cpu {

tik_status swiglu(tik_swiglu_args const* args) {
  if (auto bad = swiglu::validate(args)) return Error::keep(std::move(bad));
  for (int64_t token = 0; token < args->tokens; ++token) {
    tik_bf16 const* const gate = row(args->gate, token);
    tik_bf16 const* const up = row(args->up, token);
    tik_bf16* const out = row(args->out, token);
    for (int c = 0; c < args->columns; ++c) {
      float const g = to_float(gate[c]);
      out[c] = to_bf16(swiglu::gated(swiglu::activated(g, swiglu::sigmoid(g)), to_float(up[c])));
    }
  }
  return TIK_OK;
}

tik_status swiglu_backward(tik_swiglu_backward_args const* args) {
  if (auto bad = swiglu::validate(args)) return Error::keep(std::move(bad));
  for (int64_t token = 0; token < args->tokens; ++token) {
    tik_bf16 const* const gate = row(args->gate, token);
    tik_bf16 const* const up = row(args->up, token);
    tik_bf16 const* const out_gradient = row(args->out_gradient, token);
    tik_bf16* const gate_gradient = row(args->gate_gradient, token);
    tik_bf16* const up_gradient = row(args->up_gradient, token);
    for (int c = 0; c < args->columns; ++c) {
      float const g = to_float(gate[c]);
      auto const gradients = swiglu::gradients(g, to_float(up[c]), to_float(out_gradient[c]), swiglu::sigmoid(g));
      gate_gradient[c] = to_bf16(gradients.gate);
      up_gradient[c] = to_bf16(gradients.up);
    }
  }
  return TIK_OK;
}

} // namespace tik::operators::cpu
