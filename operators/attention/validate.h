// Checks a request against contract.h before any work starts. Pure host code, shared by every backend, C++20 and the standard
// library only (a GPU host builds it with nothing but the CUDA toolkit). Lengths, offsets and page tables may lie in device
// memory: they are not read here.
#pragma once

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "operators/attention/contract.h"
#include "operators/validation.h"

namespace tik::attention {

// The three calls of the contract that take tik_attention_args.
enum class Entry { full, extend, decode };

using operators::Refusal;

// Bounds that keep every row, key and head index of a backend within 31 bits and every stride within a TMA descriptor.
inline constexpr int32_t largest_ratio = 16;
inline constexpr int32_t largest_page_size = 256;
inline constexpr int32_t largest_batch = 65535;
inline constexpr int32_t largest_query_heads = 1024;
inline constexpr int32_t largest_tokens = 1 << 24;
using operators::tensor_alignment;
inline constexpr std::size_t workspace_alignment = 256;

// Refuses heads, head_dim or softmax_scale outside the contract; nothing when the shape is good.
std::optional<Refusal> validate_shape(tik_attention_shape const& shape);

// Refuses limits that no call could have; nothing when they are good.
std::optional<Refusal> validate_limits(tik_attention_limits const& limits);

// Refuses whatever in `args` contradicts the contract of `entry`. `args` may be null. `workspace_bytes` is what the backend
// needs for args->shape and args->limits (tik_attention_workspace_bytes); it is compared last, after shape and limits were
// found good, so pass it as a function of both: int64_t(tik_attention_shape const&, tik_attention_limits const&).
template <typename WorkspaceBytes>
std::optional<Refusal> validate_args(Entry entry, tik_attention_args const* args, WorkspaceBytes workspace_bytes);

// The name of the C function of an entry point, as it appears in sentences.
inline char const* function_name(Entry entry) {
  switch (entry) {
    case Entry::full:
      return "tik_attention_full";
    case Entry::extend:
      return "tik_attention_extend";
    case Entry::decode:
      return "tik_attention_decode";
  }
  return "tik_attention";
}

namespace validation {

using namespace operators::validation;

// Output rows are written: no two of them may share memory, so one stride must step over all that the other covers.
inline std::optional<Refusal> check_output_rows(tik_attention_args const& args) {
  int64_t const heads = args.shape.query_heads;
  int64_t const tokens = args.limits.query_tokens;
  int64_t const dim = args.shape.head_dim;
  bool const heads_inside_token = args.out_token_stride >= (heads - 1) * args.out_head_stride + dim;
  bool const tokens_inside_head = args.out_head_stride >= (tokens - 1) * args.out_token_stride + dim;
  if (heads == 1 || tokens == 1 || heads_inside_token || tokens_inside_head) return std::nullopt;
  return invalid("out_token_stride ", args.out_token_stride, " and out_head_stride ", args.out_head_stride,
                 " make the rows of ", heads, " heads and ", tokens, " tokens of head_dim ", dim,
                 " overlap: for [token, head, dim] use ", heads * dim, " and ", dim, ".");
}

inline std::optional<Refusal> check_paged(tik_kv_view const& kv, char const* length_name, int32_t kv_length) {
  if (auto bad = check_range("kv.page_size", kv.page_size, 1, largest_page_size)) return bad;
  int64_t const pages = (int64_t{kv_length} + kv.page_size - 1) / kv.page_size;
  if (auto bad = first_of({check_pointer("kv.page_table", kv.page_table, alignof(int32_t)),
                           check_range("kv.page_count", kv.page_count, 1, INT32_MAX),
                           check_stride("kv.page_stride", kv.page_stride, 8)})) {
    return bad;
  }
  if (kv.page_table_stride >= pages) return std::nullopt;
  return invalid("kv.page_table_stride is ", kv.page_table_stride, ", but ", pages, " pages of ", kv.page_size,
                 " tokens are needed for ", length_name, " ", kv_length, ": give each sequence at least ", pages, " entries.");
}

inline std::optional<Refusal> check_places(tik_kv_view const& kv) {
  return first_of({check_pointer("kv.keys", kv.keys, tensor_alignment), check_pointer("kv.values", kv.values, tensor_alignment),
                   check_stride("kv.token_stride", kv.token_stride, 8), check_stride("kv.head_stride", kv.head_stride, 8)});
}

// A cache of `batch` sequences that `function` takes, each with room for kv_length tokens, which the caller knows as
// length_name.
inline std::optional<Refusal> check_cache(tik_kv_view const& kv, char const* function, int32_t batch, char const* length_name,
                                          int32_t kv_length) {
  if (kv.layout != TIK_KV_CONTIGUOUS && kv.layout != TIK_KV_PAGED) {
    return invalid("kv.layout is ", kv.layout, ", but ", function, " takes TIK_KV_CONTIGUOUS (", int{TIK_KV_CONTIGUOUS},
                   ") or TIK_KV_PAGED (", int{TIK_KV_PAGED}, ").");
  }
  if (auto bad = check_places(kv)) return bad;
  if (kv.layout == TIK_KV_CONTIGUOUS) return check_stride("kv.sequence_stride", kv.sequence_stride, batch == 1 ? 0 : 8);
  return check_paged(kv, length_name, kv_length);
}

inline std::optional<Refusal> check_kv(Entry entry, tik_attention_args const& args) {
  if (entry != Entry::full)
    return check_cache(args.kv, function_name(entry), args.batch, "limits.kv_length", args.limits.kv_length);
  if (args.kv.layout == TIK_KV_PACKED) return check_places(args.kv);
  return invalid("kv.layout is ", args.kv.layout, ", but tik_attention_full takes TIK_KV_PACKED (", int{TIK_KV_PACKED},
                 "): call tik_attention_extend for keys and values in a cache.");
}

inline std::optional<Refusal> check_lengths(Entry entry, tik_attention_args const& args) {
  if (entry == Entry::decode) {
    if (args.limits.query_length != 1) {
      return invalid("limits.query_length is ", args.limits.query_length,
                     ", but tik_attention_decode takes one query token a sequence: set it to 1, or call tik_attention_extend.");
    }
    if (args.limits.query_tokens < args.batch) {
      return invalid("limits.query_tokens is ", args.limits.query_tokens, ", less than batch ", args.batch,
                     ": decode has one query token a sequence.");
    }
    return first_of({check_absent("query_offsets", args.query_offsets, "row b of a decode call belongs to sequence b"),
                     check_pointer("kv_lengths", args.kv_lengths, alignof(int32_t))});
  }
  if (auto bad = check_pointer("query_offsets", args.query_offsets, alignof(int32_t))) return bad;
  if (entry == Entry::extend) return check_pointer("kv_lengths", args.kv_lengths, alignof(int32_t));
  return check_absent("kv_lengths", args.kv_lengths, "the lengths of a full call follow from query_offsets");
}

inline std::optional<Refusal> check_workspace(tik_attention_args const& args, int64_t needed) {
  if (needed <= 0) return std::nullopt;
  if (args.workspace == nullptr) {
    return Refusal{TIK_WORKSPACE_TOO_SMALL,
                   sentence("workspace is NULL, but these limits need ", needed,
                            " bytes (tik_attention_workspace_bytes), zeroed once before the first use.")};
  }
  if (args.workspace_bytes < static_cast<uint64_t>(needed)) {
    return Refusal{TIK_WORKSPACE_TOO_SMALL,
                   sentence("workspace_bytes is ", args.workspace_bytes, ", but these limits need ", needed,
                            ": ask tik_attention_workspace_bytes with the same shape and limits.")};
  }
  return check_pointer("workspace", args.workspace, workspace_alignment);
}

} // namespace validation

inline std::optional<Refusal> validate_shape(tik_attention_shape const& shape) {
  using namespace validation;
  if (auto bad = first_of({check_range("shape.query_heads", shape.query_heads, 1, largest_query_heads),
                           check_range("shape.kv_heads", shape.kv_heads, 1, largest_query_heads)})) {
    return bad;
  }
  if (shape.query_heads % shape.kv_heads != 0) {
    return invalid("shape.query_heads is ", shape.query_heads, ", which is not a multiple of shape.kv_heads ", shape.kv_heads,
                   ": every key/value head serves the same number of query heads.");
  }
  if (shape.query_heads / shape.kv_heads > largest_ratio) {
    return invalid("shape.query_heads is ", shape.query_heads, ", ", shape.query_heads / shape.kv_heads,
                   " times shape.kv_heads ", shape.kv_heads, ", but at most ", largest_ratio, " times is allowed.");
  }
  if (shape.head_dim != 64 && shape.head_dim != 128) {
    return invalid("shape.head_dim is ", shape.head_dim, ", but must be 64 or 128.");
  }
  if (!(shape.softmax_scale > 0 && shape.softmax_scale <= FLT_MAX)) {
    return invalid("shape.softmax_scale is ", shape.softmax_scale, ", but must be finite and greater than 0, usually ",
                   shape.head_dim == 64 ? 0.125 : 0.0883883, " (1 / sqrt(head_dim)).");
  }
  return std::nullopt;
}

inline std::optional<Refusal> validate_limits(tik_attention_limits const& limits) {
  using namespace validation;
  return first_of({check_range("limits.batch", limits.batch, 1, largest_batch),
                   check_range("limits.query_tokens", limits.query_tokens, 1, largest_tokens),
                   check_range("limits.query_length", limits.query_length, 1, limits.query_tokens),
                   check_range("limits.kv_length", limits.kv_length, limits.query_length, largest_tokens)});
}

template <typename WorkspaceBytes>
std::optional<Refusal> validate_args(Entry entry, tik_attention_args const* args, WorkspaceBytes workspace_bytes) {
  using namespace validation;
  if (args == nullptr) return invalid("args is NULL: ", function_name(entry), " takes a tik_attention_args.");
  if (args->struct_bytes != sizeof(tik_attention_args)) {
    return invalid("struct_bytes is ", args->struct_bytes, ", but this library was built for ", sizeof(tik_attention_args),
                   ": set it to sizeof(tik_attention_args) and compile against the contract of ABI version ",
                   TIK_ATTENTION_ABI_VERSION, ".");
  }
  if (auto bad = validate_shape(args->shape)) return bad;
  if (auto bad = validate_limits(args->limits)) return bad;
  if (auto bad = check_range("batch", args->batch, 1, args->limits.batch)) return bad;
  int64_t const dim = args->shape.head_dim;
  if (auto bad = first_of({check_pointer("queries", args->queries, tensor_alignment),
                           check_stride("query_token_stride", args->query_token_stride, 8),
                           check_stride("query_head_stride", args->query_head_stride, 8),
                           check_pointer("out", args->out, tensor_alignment),
                           check_stride("out_token_stride", args->out_token_stride, dim),
                           check_stride("out_head_stride", args->out_head_stride, dim)})) {
    return bad;
  }
  if (auto bad = check_output_rows(*args)) return bad;
  if (args->lse != nullptr) {
    if (auto bad = check_pointer("lse", args->lse, alignof(float))) return bad;
  }
  if (auto bad = check_lengths(entry, *args)) return bad;
  if (auto bad = check_kv(entry, *args)) return bad;
  return check_workspace(*args, workspace_bytes(args->shape, args->limits));
}

} // namespace tik::attention
