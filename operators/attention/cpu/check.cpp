// The checks of check.h, and the functions of the contract that do no attention.
// Compiled without optimization: every audit of a candidate compiles this file, and a call spends no time here.
#pragma GCC optimize("O0")

#include "check.h"

#include <optional>
#include <string>

#include "operators/attention/validate.h"

namespace tik::attention::cpu {
namespace {

thread_local std::string last_error = "no call of this thread has failed";

int64_t needed_workspace(tik_attention_shape const&, tik_attention_limits const&) { return 0; }

std::optional<Refusal> check_query_offsets(tik_attention_args const& args) {
  using namespace validation;
  if (args.query_offsets[0] < 0) return invalid("query_offsets[0] is ", args.query_offsets[0], ", but rows begin at 0.");
  for (int b = 0; b < args.batch; ++b) {
    int64_t const length = int64_t{args.query_offsets[b + 1]} - args.query_offsets[b];
    if (length < 0 || length > args.limits.query_length) {
      return invalid("query_offsets[", b, "] and [", b + 1, "] are ", args.query_offsets[b], " and ", args.query_offsets[b + 1],
                     ": a sequence has between 0 and limits.query_length = ", args.limits.query_length, " query tokens.");
    }
  }
  if (args.query_offsets[args.batch] <= args.limits.query_tokens) return std::nullopt;
  return invalid("query_offsets[", args.batch, "] is ", args.query_offsets[args.batch], ", more than limits.query_tokens ",
                 args.limits.query_tokens, ".");
}

std::optional<Refusal> check_pages(tik_attention_args const& args, int sequence) {
  int64_t const pages = (int64_t{args.kv_lengths[sequence]} + args.kv.page_size - 1) / args.kv.page_size;
  int32_t const* const table = args.kv.page_table + int64_t{sequence} * args.kv.page_table_stride;
  for (int64_t i = 0; i < pages; ++i) {
    if (table[i] < 0 || table[i] >= args.kv.page_count) {
      return validation::invalid("kv.page_table[", sequence, ", ", i, "] is ", table[i], ", but pages are 0 to ",
                                 args.kv.page_count - 1, ".");
    }
  }
  return std::nullopt;
}

std::optional<Refusal> check_kv_lengths(Entry entry, tik_attention_args const& args) {
  for (int b = 0; b < args.batch; ++b) {
    int32_t const length = args.kv_lengths[b];
    int32_t const queries = entry == Entry::decode ? 0 : args.query_offsets[b + 1] - args.query_offsets[b];
    if (length < queries || length > args.limits.kv_length) {
      return validation::invalid("kv_lengths[", b, "] is ", length, ", but must be between ", queries,
                                 " (its query tokens) and limits.kv_length = ", args.limits.kv_length, ".");
    }
    if (args.kv.layout != TIK_KV_PAGED) continue;
    if (auto refusal = check_pages(args, b)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(Entry entry, tik_attention_args const* args) {
  if (auto refusal = validate_args(entry, args, needed_workspace)) return refusal;
  if (entry != Entry::decode) {
    if (auto refusal = check_query_offsets(*args)) return refusal;
  }
  return entry == Entry::full ? std::nullopt : check_kv_lengths(entry, *args);
}

tik_status keep(std::optional<Refusal> refusal) {
  if (!refusal) return TIK_OK;
  last_error = std::move(refusal->sentence);
  return refusal->status;
}

} // namespace

tik_status check_full(tik_attention_args const* args) { return keep(find_refusal(Entry::full, args)); }
tik_status check_extend(tik_attention_args const* args) { return keep(find_refusal(Entry::extend, args)); }
tik_status check_decode(tik_attention_args const* args) { return keep(find_refusal(Entry::decode, args)); }

} // namespace tik::attention::cpu

int32_t tik_attention_abi_version(void) { return TIK_ATTENTION_ABI_VERSION; }

int64_t tik_attention_workspace_bytes(tik_attention_shape const* shape, tik_attention_limits const* limits) {
  using namespace tik::attention;
  if (shape == nullptr || limits == nullptr) {
    cpu::keep(validation::invalid("shape or limits is NULL: tik_attention_workspace_bytes takes the address of both."));
    return -1;
  }
  if (cpu::keep(validate_shape(*shape)) != TIK_OK || cpu::keep(validate_limits(*limits)) != TIK_OK) return -1;
  return cpu::needed_workspace(*shape, *limits);
}

char const* tik_attention_last_error(void) { return tik::attention::cpu::last_error.c_str(); }
