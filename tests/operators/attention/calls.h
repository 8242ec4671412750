// The ways to compute attention over trajectories: whole and packed, chunk by chunk, token by token. Each checks on the way
// that nothing but its own rows was written.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/operators/attention/cache.h"
#include "tests/operators/attention/library.h"
#include "tests/operators/attention/trajectory.h"

namespace tik::attention::testing {

using Trajectories = std::vector<Trajectory>;

// Rows that belong to nobody, before and after those of a packed call.
constexpr int rows_before = 1, rows_after = 2;

// The query and output rows of one call; what a test does not fill is NaN or poison.
struct CallRows {
  Heads heads;
  int rows;
  std::vector<tik_bf16> queries, out;
  std::vector<float> lse;

  CallRows(Heads heads, int rows)
      : heads(heads),
        rows(rows),
        queries(rows * width(), nan_bf16),
        out(rows * width(), poison_bf16),
        lse(std::size_t(rows) * heads.query_heads, poison_lse) {}

  std::size_t width() const { return std::size_t(heads.query_heads) * heads.head_dim; }

  void put(int row, Trajectory const& trajectory, int token) {
    std::copy_n(trajectory.queries.begin() + token * width(), width(), queries.begin() + row * width());
  }

  // Arguments without keys and lengths.
  tik_attention_args args(int batch, tik_attention_limits limits) {
    tik_attention_args args{};
    args.struct_bytes = sizeof(args);
    args.batch = batch;
    args.shape = shape_of(heads);
    args.limits = limits;
    args.queries = queries.data();
    args.out = out.data();
    args.lse = lse.data();
    args.query_token_stride = args.out_token_stride = static_cast<int64_t>(width());
    args.query_head_stride = args.out_head_stride = heads.head_dim;
    return args;
  }

  // Whether every row in [begin, end) still is as it was poisoned.
  bool untouched(std::size_t begin, std::size_t end) const {
    return std::all_of(out.begin() + begin * width(), out.begin() + end * width(), [](auto x) { return x == poison_bf16; }) &&
           std::all_of(lse.begin() + begin * heads.query_heads, lse.begin() + end * heads.query_heads,
                       [](float x) { return x == poison_lse; });
  }
};

// All trajectories whole, packed into one call of `full`.
inline std::vector<Outputs> run_full(Library const& library, Trajectories const& trajectories) {
  Heads const heads = trajectories[0].heads;
  std::vector<int32_t> offsets{rows_before};
  for (auto const& trajectory : trajectories) offsets.push_back(offsets.back() + trajectory.tokens);
  CallRows call(heads, offsets.back() + rows_after);
  int const kv_width = trajectories[0].kv_width();
  std::vector<tik_bf16> keys(call.rows * kv_width, nan_bf16), values = keys;
  for (std::size_t b = 0; b < trajectories.size(); ++b) {
    for (int t = 0; t < trajectories[b].tokens; ++t) call.put(offsets[b] + t, trajectories[b], t);
    std::copy(trajectories[b].keys.begin(), trajectories[b].keys.end(), keys.begin() + int64_t(offsets[b]) * kv_width);
    std::copy(trajectories[b].values.begin(), trajectories[b].values.end(), values.begin() + int64_t(offsets[b]) * kv_width);
  }
  int const batch = static_cast<int>(trajectories.size());
  auto args = call.args(batch, {batch, call.rows, call.rows, call.rows});
  args.query_offsets = offsets.data();
  args.kv.layout = TIK_KV_PACKED;
  args.kv.keys = keys.data();
  args.kv.values = values.data();
  args.kv.token_stride = kv_width;
  args.kv.head_stride = heads.head_dim;
  EXPECT_EQ(library.full(&args), TIK_OK) << library.last_error();
  EXPECT_TRUE(call.untouched(0, rows_before) && call.untouched(offsets.back(), call.rows));

  std::vector<Outputs> outputs;
  for (std::size_t b = 0; b < trajectories.size(); ++b) {
    outputs.emplace_back(trajectories[b]);
    for (int t = 0; t < trajectories[b].tokens; ++t) outputs[b].take(t, call.out, call.lse, offsets[b] + t, heads);
  }
  return outputs;
}

// Grows each sequence of the cache by chunks[b] tokens (0: it waits) in one call of `extend`.
inline void run_extend(Library const& library, Trajectories const& trajectories, std::vector<int> const& chunks, Cache& cache,
                       std::vector<Outputs>& outputs) {
  Heads const heads = trajectories[0].heads;
  int const batch = static_cast<int>(trajectories.size());
  std::vector<int32_t> offsets{rows_before}, lengths, starts;
  for (int const chunk : chunks) offsets.push_back(offsets.back() + chunk);
  CallRows call(heads, offsets.back() + rows_after);
  for (int b = 0; b < batch; ++b) {
    starts.push_back(cache.length(b));
    for (int i = 0; i < chunks[b]; ++i) {
      call.put(offsets[b] + i, trajectories[b], cache.length(b));
      cache.append(b, trajectories[b]);
    }
    lengths.push_back(cache.length(b));
  }
  auto args = call.args(batch, {batch, call.rows, std::min(call.rows, cache.capacity()), cache.capacity()});
  args.query_offsets = offsets.data();
  args.kv_lengths = lengths.data();
  args.kv = cache.view();
  ASSERT_EQ(library.extend(&args), TIK_OK) << library.last_error();
  EXPECT_TRUE(call.untouched(0, rows_before) && call.untouched(offsets.back(), call.rows));
  for (int b = 0; b < batch; ++b) {
    for (int i = 0; i < chunks[b]; ++i) outputs[b].take(starts[b] + i, call.out, call.lse, offsets[b] + i, heads);
  }
}

// Grows every sequence that is not finished by one token in one call of `decode`; the finished ones pad the batch.
inline void run_decode(Library const& library, Trajectories const& trajectories, Cache& cache, std::vector<Outputs>& outputs) {
  Heads const heads = trajectories[0].heads;
  int const batch = static_cast<int>(trajectories.size());
  CallRows call(heads, batch + rows_after);
  std::vector<int32_t> lengths(batch, 0);
  for (int b = 0; b < batch; ++b) {
    if (cache.length(b) == trajectories[b].tokens) continue;
    call.put(b, trajectories[b], cache.length(b));
    cache.append(b, trajectories[b]);
    lengths[b] = cache.length(b);
  }
  auto args = call.args(batch, {batch, batch, 1, cache.capacity()});
  args.kv_lengths = lengths.data();
  args.kv = cache.view();
  ASSERT_EQ(library.decode(&args), TIK_OK) << library.last_error();
  EXPECT_TRUE(call.untouched(batch, call.rows));
  for (int b = 0; b < batch; ++b) {
    if (lengths[b] > 0) {
      outputs[b].take(lengths[b] - 1, call.out, call.lse, b, heads);
    } else {
      EXPECT_TRUE(std::all_of(call.out.begin() + b * call.width(), call.out.begin() + (b + 1) * call.width(),
                              [](auto x) { return x == 0; }));
      EXPECT_EQ(call.lse[b * heads.query_heads], -INFINITY);
    }
  }
}

// How a rollout reads its prompts.
struct Rollout {
  std::vector<int> prompts; // tokens of each trajectory that are prefilled; the others are decoded
  int page_size;            // 0: contiguous
  bool cut;                 // prompts in random chunks instead of whole
  unsigned seed;
};

// Prefill by `extend`, then `decode` token by token until every trajectory is complete.
inline std::vector<Outputs> run_rollout(Library const& library, Trajectories const& trajectories, Rollout const& rollout) {
  int longest = 0;
  std::vector<Outputs> outputs;
  for (auto const& trajectory : trajectories) {
    longest = std::max(longest, trajectory.tokens);
    outputs.emplace_back(trajectory);
  }
  int const batch = static_cast<int>(trajectories.size());
  Cache cache(trajectories[0].heads, batch, longest, rollout.page_size, rollout.seed);
  std::mt19937 random(rollout.seed);
  std::vector<int> left = rollout.prompts;
  while (std::any_of(left.begin(), left.end(), [](int tokens) { return tokens > 0; })) {
    std::vector<int> chunks = left;
    for (int& chunk : chunks) {
      if (rollout.cut) chunk = static_cast<int>(random() % (chunk + 1));
    }
    for (int b = 0; b < batch; ++b) left[b] -= chunks[b];
    run_extend(library, trajectories, chunks, cache, outputs);
    if (::testing::Test::HasFatalFailure()) return outputs;
  }
  for (int step = 0; step < longest; ++step) {
    bool finished = true;
    for (int b = 0; b < batch; ++b) finished = finished && cache.length(b) == trajectories[b].tokens;
    if (finished) break;
    run_decode(library, trajectories, cache, outputs);
    if (::testing::Test::HasFatalFailure()) return outputs;
  }
  return outputs;
}

} // namespace tik::attention::testing
