// Every way in which a request can contradict contract.h, as a change to a good request. The unit tests of validate.h and the
// suites of the backends run the same list, so that no backend answers less than the contract.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "operators/attention/contract.h"
#include "operators/attention/validate.h"

namespace tik::attention {

struct RefusalCase {
  std::string title;
  Entry entry;
  void (*change)(tik_attention_args&);
  std::string names;  // what the sentence must name
  bool paged = false; // starts from a paged request
  tik_status status = TIK_INVALID_ARGUMENT;
};

// Calls with a NULL args pointer, and a workspace that is too small, are not changes of a request: callers test them beside.
inline std::vector<RefusalCase> refusal_cases() {
  using Args = tik_attention_args;
  constexpr auto full = Entry::full;
  constexpr auto extend = Entry::extend;
  constexpr auto decode = Entry::decode;
  auto const shifted = [](auto*& pointer, int bytes) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(reinterpret_cast<std::uintptr_t>(pointer) + bytes);
  };
  static auto const shift = shifted;
  return {
      {"struct of another version", full, [](Args& a) { a.struct_bytes -= 8; }, "struct_bytes"},
      {"no struct size", decode, [](Args& a) { a.struct_bytes = 0; }, "struct_bytes"},
      {"empty batch", full, [](Args& a) { a.batch = 0; }, "batch"},
      {"negative batch", decode, [](Args& a) { a.batch = -1; }, "batch"},
      {"batch above its limit", decode, [](Args& a) { a.batch = a.limits.batch + 1; }, "batch"},
      {"no query heads", full, [](Args& a) { a.shape.query_heads = 0; }, "shape.query_heads"},
      {"no kv heads", full, [](Args& a) { a.shape.kv_heads = 0; }, "shape.kv_heads"},
      {"negative kv heads", decode, [](Args& a) { a.shape.kv_heads = -2; }, "shape.kv_heads"},
      {"heads that do not divide", decode, [](Args& a) { a.shape.query_heads = a.shape.kv_heads * 2 + 1; }, "multiple"},
      {"fewer query heads than kv heads", full, [](Args& a) { a.shape.query_heads = 1; }, "multiple"},
      {"ratio of 17", decode, [](Args& a) { a.shape.query_heads = a.shape.kv_heads * 17; }, "at most 16"},
      {"head_dim 96", full, [](Args& a) { a.shape.head_dim = 96; }, "shape.head_dim"},
      {"head_dim 256", decode, [](Args& a) { a.shape.head_dim = 256; }, "shape.head_dim"},
      {"zero scale", full, [](Args& a) { a.shape.softmax_scale = 0; }, "shape.softmax_scale"},
      {"negative scale", full, [](Args& a) { a.shape.softmax_scale = -0.1f; }, "shape.softmax_scale"},
      {"infinite scale", decode, [](Args& a) { a.shape.softmax_scale = INFINITY; }, "shape.softmax_scale"},
      {"NaN scale", extend, [](Args& a) { a.shape.softmax_scale = NAN; }, "shape.softmax_scale"},
      {"no batch limit", full, [](Args& a) { a.limits.batch = 0; }, "limits.batch"},
      {"no query token limit", full, [](Args& a) { a.limits.query_tokens = 0; }, "limits.query_tokens"},
      {"no query length limit", full, [](Args& a) { a.limits.query_length = 0; }, "limits.query_length"},
      {"query length above query tokens", full, [](Args& a) { a.limits.query_length = a.limits.query_tokens + 1; },
       "limits.query_length"},
      {"no kv length limit", decode, [](Args& a) { a.limits.kv_length = 0; }, "limits.kv_length"},
      {"kv length below query length", extend, [](Args& a) { a.limits.kv_length = a.limits.query_length - 1; },
       "limits.kv_length"},
      {"decode limits of several tokens", decode,
       [](Args& a) {
         a.limits.query_tokens = 2 * a.batch;
         a.limits.query_length = 2;
       },
       "limits.query_length"},
      {"decode limits of fewer tokens than sequences", decode, [](Args& a) { a.limits.query_tokens = a.batch - 1; },
       "limits.query_tokens"},
      {"no queries", full, [](Args& a) { a.queries = nullptr; }, "queries"},
      {"unaligned queries", full, [](Args& a) { shift(a.queries, 2); }, "queries"},
      {"odd query token stride", full, [](Args& a) { a.query_token_stride += 4; }, "query_token_stride"},
      {"zero query token stride", full, [](Args& a) { a.query_token_stride = 0; }, "query_token_stride"},
      {"odd query head stride", decode, [](Args& a) { a.query_head_stride += 1; }, "query_head_stride"},
      {"negative query head stride", decode, [](Args& a) { a.query_head_stride = -8; }, "query_head_stride"},
      {"no offsets in full", full, [](Args& a) { a.query_offsets = nullptr; }, "query_offsets"},
      {"no offsets in extend", extend, [](Args& a) { a.query_offsets = nullptr; }, "query_offsets"},
      {"unaligned offsets", full, [](Args& a) { shift(a.query_offsets, 2); }, "query_offsets"},
      {"offsets in decode", decode, [](Args& a) { a.query_offsets = a.kv_lengths; }, "query_offsets"},
      {"no lengths in extend", extend, [](Args& a) { a.kv_lengths = nullptr; }, "kv_lengths"},
      {"no lengths in decode", decode, [](Args& a) { a.kv_lengths = nullptr; }, "kv_lengths"},
      {"lengths in full", full, [](Args& a) { a.kv_lengths = a.query_offsets; }, "kv_lengths"},
      {"no out", full, [](Args& a) { a.out = nullptr; }, "out"},
      {"unaligned out", decode, [](Args& a) { shift(a.out, 8); }, "out"},
      {"odd out token stride", full, [](Args& a) { a.out_token_stride += 4; }, "out_token_stride"},
      {"out head stride below head_dim", full, [](Args& a) { a.out_head_stride = a.shape.head_dim - 8; }, "out_head_stride"},
      {"overlapping out rows", full,
       [](Args& a) {
         a.out_token_stride = a.shape.head_dim;
         a.out_head_stride = a.shape.head_dim;
       },
       "overlap"},
      {"unaligned lse", full, [](Args& a) { shift(a.lse, 2); }, "lse"},
      {"cache layout in full", full, [](Args& a) { a.kv.layout = TIK_KV_CONTIGUOUS; }, "tik_attention_extend"},
      {"packed layout in extend", extend, [](Args& a) { a.kv.layout = TIK_KV_PACKED; }, "kv.layout"},
      {"packed layout in decode", decode, [](Args& a) { a.kv.layout = TIK_KV_PACKED; }, "kv.layout"},
      {"unknown layout", decode, [](Args& a) { a.kv.layout = 7; }, "kv.layout"},
      {"no keys", decode, [](Args& a) { a.kv.keys = nullptr; }, "kv.keys"},
      {"unaligned keys", decode, [](Args& a) { shift(a.kv.keys, 2); }, "kv.keys"},
      {"no values", full, [](Args& a) { a.kv.values = nullptr; }, "kv.values"},
      {"unaligned values", full, [](Args& a) { shift(a.kv.values, 8); }, "kv.values"},
      {"odd kv token stride", full, [](Args& a) { a.kv.token_stride += 2; }, "kv.token_stride"},
      {"zero kv token stride", decode, [](Args& a) { a.kv.token_stride = 0; }, "kv.token_stride"},
      {"odd kv head stride", extend, [](Args& a) { a.kv.head_stride += 4; }, "kv.head_stride"},
      {"odd sequence stride", decode, [](Args& a) { a.kv.sequence_stride += 4; }, "kv.sequence_stride"},
      {"zero sequence stride", decode, [](Args& a) { a.kv.sequence_stride = 0; }, "kv.sequence_stride"},
      {"huge stride", decode, [](Args& a) { a.kv.sequence_stride = int64_t{1} << 40; }, "kv.sequence_stride"},
      {"empty pages", decode, [](Args& a) { a.kv.page_size = 0; }, "kv.page_size", true},
      {"pages of 257", decode, [](Args& a) { a.kv.page_size = 257; }, "kv.page_size", true},
      {"no page table", decode, [](Args& a) { a.kv.page_table = nullptr; }, "kv.page_table", true},
      {"unaligned page table", extend, [](Args& a) { shift(a.kv.page_table, 1); }, "kv.page_table", true},
      {"short page table", decode, [](Args& a) { a.kv.page_table_stride = 1; }, "kv.page_table_stride", true},
      {"no pages", extend, [](Args& a) { a.kv.page_count = 0; }, "kv.page_count", true},
      {"odd page stride", decode, [](Args& a) { a.kv.page_stride += 1; }, "kv.page_stride", true},
      {"zero page stride", decode, [](Args& a) { a.kv.page_stride = 0; }, "kv.page_stride", true},
  };
}

} // namespace tik::attention
