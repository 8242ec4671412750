// One attention call as the suite makes it: buffers in a chosen layout, everything that the call must not use poisoned with
// NaN, and the rows of each sequence read back with a check that nothing else was touched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators/attention/contract.h"
#include "operators/attention/sm90/decode_variant.h"
#include "operators/attention/sm90/dispatch.h"
#include "tests/gpu/device.h"
#include "tests/gpu/source.h"

namespace tik::gpu_suite {

using attention::Entry;
using attention::sm90::Kernel;

// Query tokens begin..end-1 of a sequence against its keys 0..end-1. begin == end == 0 pads a batch.
struct Piece {
  Source source;
  int begin;
  int end;
};

// How the rows of tensors lie in memory. The defaults are [token, head, head_dim] without gaps.
struct Layout {
  int page_size = 0;        // 0: contiguous
  uint64_t map_seed = 1;    // order of the pages in the pool
  bool heads_first = false; // [head, token, head_dim], within a sequence, a page or the packed rows
  int gap = 0;              // unused elements after each token's heads; a multiple of 8
  bool share = false;       // pieces of equal source share keys and values: paged only, one set of pages in several tables
};

std::string describe(Layout const& layout);

// Query heads / key and value heads x head_dim, softmax_scale 1 / sqrt(head_dim).
tik_attention_shape make_shape(int query_heads, int kv_heads, int head_dim);
std::string describe(tik_attention_shape const& shape);

// Output of some query tokens: bits of out [tokens, query_heads, head_dim] and lse [tokens, query_heads].
struct Rows {
  int tokens = 0;
  int heads = 0;
  int head_dim = 0;
  std::vector<uint16_t> out;
  std::vector<uint32_t> lse;

  // Appends the tokens of `more`.
  void append(Rows const& more);
};

struct CallSetup {
  Entry entry;
  tik_attention_shape shape;
  tik_attention_limits limits;
  int batch;
  Layout layout = {};
  std::optional<Kernel> kernel = std::nullopt;                                 // the dispatched one when empty
  std::optional<attention::sm90::DecodeVariant> decode_variant = std::nullopt; // of the decode kernel; without `kernel`
};

// The tightest limits for these pieces.
tik_attention_limits limits_of(std::vector<Piece> const& pieces);

class Call {
 public:
  explicit Call(CallSetup setup);

  enum class Fill {
    fresh, // poison all keys and values, then write tokens 0..end-1 of every piece
    append // keep what is there and write tokens begin..end-1: the cache of a rollout
  };
  // Writes queries, keys, values, offsets and lengths of `pieces` (as many as the batch) and poisons the output.
  void load(std::vector<Piece> const& pieces, Fill fill = Fill::fresh);

  // Gives the sequences other pages; the next load(fresh) writes them there. Paged only.
  void map_pages(uint64_t seed);

  // Poisons the output again; inputs stay.
  void poison_output();

  // Launches on `stream` and returns the status; does not synchronise.
  tik_status launch(cudaStream_t stream = nullptr);

  // Synchronises and returns the rows of each piece. Whatever is wrong besides their values (a byte outside them written, a row
  // not written, an input changed) is appended to `problems`.
  std::vector<Rows> results(std::vector<std::string>& problems);

  tik_attention_args& args() { return args_; }

 private:
  void place_cache();
  void write_cache_offsets();
  void write_cache(std::vector<Piece> const& pieces, Fill fill);
  void write_rows(std::vector<Piece> const& pieces);
  Placement cache_placement(tik_bf16* base, std::size_t sequence) const;
  Placement row_placement(tik_bf16* base, std::size_t sequence, int heads) const;
  uint64_t input_checksum() const;

  CallSetup setup_;
  tik_attention_args args_ = {};
  std::vector<Piece> pieces_;
  std::vector<int> first_rows_;
  int rows_; // query rows of the buffers: limits.query_tokens and some padding rows
  Buffer<tik_bf16> queries_, keys_, values_, out_;
  Buffer<float> lse_;
  Buffer<int32_t> query_offsets_, kv_lengths_, page_table_;
  Buffer<unsigned char> workspace_;
  // Element offsets of token t: of a row buffer's row t, and of sequence b's cached token t at [b * limits.kv_length + t].
  Buffer<int64_t> query_row_offsets_, kv_row_offsets_, cache_offsets_;
  std::vector<int32_t> pages_; // block of [sequence, index] in the cache, also of entries not yet in the page table
  std::vector<int32_t> table_; // the page table: entries past the last page hold unused_page
  uint64_t checksum_ = 0;
};

// Runs one call on fresh buffers. Throws when the call is refused: the suite makes good calls here.
std::vector<Rows> run_call(CallSetup const& setup, std::vector<Piece> const& pieces, std::vector<std::string>& problems);

} // namespace tik::gpu_suite
