// The lines of cosines and sines that rotations read, on the host.
#pragma once

#include "operators/rotary/contract.h"
#include "operators/rotary/validate.h"

namespace tik::operators::rotary {

// Angular frequency of pair i < head_dim / 2, radians a position. args must be good (validate).
double frequency(tik_rotary_table_args const& args, int pair);

// What cosines and sines are multiplied with: 1, or YaRN's correction of the attention's temperature.
double magnitude(tik_rotary_table_args const& args);

// Fills args->table, or says what is wrong with args.
std::optional<Refusal> fill_table(tik_rotary_table_args const* args);

} // namespace tik::operators::rotary
