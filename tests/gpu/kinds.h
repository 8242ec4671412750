// The kinds of check. Each function runs its cases and records them under the kind of the same name.
#pragma once

#include "tests/gpu/report.h"

namespace tik::gpu_suite {

// The arithmetic facts that numerics.cuh rests on, measured on this chip.
void check_hardware(Suite& suite);
// The facts about a single step, a part of the above.
void check_steps(Suite& suite);
// full() against decode() at every position, as a rollout makes it: a growing cache, finished sequences padding the batch.
void check_positions(Suite& suite);
// A prompt alone against the prompt with a response of 1 to 130 tokens, and the response by decode().
void check_tails(Suite& suite);
// full() against extend() over chunks cut at random places.
void check_chunks(Suite& suite);
// A sequence alone against the same with 1 to 64 neighbours of other lengths, in decode, full and mixed extend calls.
void check_neighbours(Suite& suite);
// The sequences of a full() call in another order.
void check_packed_order(Suite& suite);
// Contiguous against every page size from 1 to 256 under random page maps, and other strides.
void check_pages(Suite& suite);
// A batch of a captured size, partly empty.
void check_padding(Suite& suite);
// The same run 100 times.
void check_repeats(Suite& suite);
// Replays of a captured graph with other inputs, lengths and page tables.
void check_graphs(Suite& suite);
// Every kernel that may serve a call against the simple one.
void check_kernels(Suite& suite);
// Every variant of the decode kernel, also those that are not chosen for the sizes at hand, against the simple kernel: on
// sequences of one part, and on sequences whose parts are folded.
void check_variants(Suite& suite);
void check_folds(Suite& suite);
// out and lse against float64.
void check_accuracy(Suite& suite);
// Calls that must be refused, each with its status and a sentence.
void check_refusals(Suite& suite);
// The operators other than attention: the cases of operators/check, under the name of each operator.
void check_operators(Suite& suite);
// Dense linear and the language-model head: the shared cases, and every cut of the strip kernel against the simple kernel.
void check_dense(Suite& suite);

// Query heads for each key and value head, all that the suite covers.
inline constexpr int ratios[] = {1, 2, 4, 5, 6, 7, 8, 12, 16};
inline constexpr int head_dims[] = {64, 128};

} // namespace tik::gpu_suite
