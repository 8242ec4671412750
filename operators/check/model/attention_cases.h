// Attention's cases for the check of a machine: full sequences against decode at every position, chunks, neighbours, pages.
#pragma once

#include "operators/attention/contract.h"
#include "operators/check/device.h"
#include "operators/check/models.h"
#include "operators/check/results.h"
#include "operators/check/token_cases.h"

namespace tik::operators::check {

// The functions of attention's contract, of the backend whose memory a Device is.
struct AttentionFunctions {
  tik_status (*full)(tik_attention_args const*) = nullptr;
  tik_status (*extend)(tik_attention_args const*) = nullptr;
  tik_status (*decode)(tik_attention_args const*) = nullptr;
  int64_t (*workspace_bytes)(tik_attention_shape const*, tik_attention_limits const*) = nullptr;
  char const* (*last_error)() = nullptr;
};

// Of the CPU backend in this process.
AttentionFunctions host_attention();

// One line of the results, from sequences of at most `longest` tokens. Throws std::runtime_error when the device fails or a
// good call is refused.
void check_attention(Device& device, AttentionFunctions const& functions, ModelShape const& shape, int longest,
                     CaseOptions const& options, Results& results);

} // namespace tik::operators::check
