// Which way computes a forward product: measured once for sizes that share a plan, and compared with the canonical chain.
#pragma once

#include "operators/linear/sm90/kernels.h"
#include "operators/linear/sm90/vendor.h"

namespace tik::operators::sm90 {

// A cut of the strip kernel, or else an algorithm of the library.
struct Plan {
  std::optional<StripCut> strip;
  Algorithm algorithm;
};

// A plan and how it was found.
struct Choice {
  Plan plan;
  int contenders = 0; // that were timed; 0: the library's first suggestion, untimed
  float us = 0;       // a launch, the median of the last heat (heats.h)
  float next_us = 0;  // of the contender that came next there, or `us` where there was none
};

std::optional<Refusal> launch_plan(tik_linear_args const& args, Plan const& plan);

// The sizes that share a plan: tokens are rounded up to one of these.
int token_bucket(int tokens);

// The fastest plan for the sizes of `args`, with tokens as its bucket has them: cuts of the strip kernel and what the library
// suggests, measured in heats (heats.h) on random operands with weights that take turns, so that few tokens find them in device
// memory as a model's layers do. Every bit that the fastest computes there is compared with the simple kernel's; a difference
// is an error. Allocates up to 1.5 GB, synchronises, and frees again.
std::optional<Refusal> choose_verified(tik_linear_args const& args, Choice& chosen);

} // namespace tik::operators::sm90
