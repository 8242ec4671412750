#include "tests/gpu/kinds.h"
#include "tests/operators/attention/refusal_cases.h"

namespace tik::gpu_suite {
namespace {

using attention::RefusalCase;

tik_status call_entry(Entry entry, tik_attention_args const* args) {
  switch (entry) {
    case Entry::full:
      return tik_attention_full(args);
    case Entry::extend:
      return tik_attention_extend(args);
    case Entry::decode:
      return tik_attention_decode(args);
  }
  return TIK_OK;
}

// A good call of two sequences; a refused change of it must leave its output as it was.
Call make_call(Entry entry, bool paged) {
  int const tokens = entry == Entry::decode ? 1 : 10;
  std::vector<Piece> const pieces{{{1}, 40 - tokens, 40}, {{2}, 40 - tokens, 40}};
  std::vector<Piece> const whole{{{1}, 0, 40}, {{2}, 0, 40}};
  std::vector<Piece> const& used = entry == Entry::full ? whole : pieces;
  Call call({entry, make_shape(8, 2, 128), limits_of(used), 2, {.page_size = paged ? 16 : 0}});
  call.load(used);
  return call;
}

} // namespace

void check_refusals(Suite& suite) {
  for (RefusalCase const& c : attention::refusal_cases()) {
    Call call = make_call(c.entry, c.paged);
    tik_attention_args changed = call.args();
    c.change(changed);
    tik_status const status = call_entry(c.entry, &changed);
    std::string const sentence = tik_attention_last_error();
    std::vector<std::string> problems;
    call.results(problems);
    bool const launched = problems != std::vector<std::string>{"an output element was not written"};
    bool const passed = status == c.status && sentence.find(c.names) != std::string::npos && !launched;
    suite.report.record("refusals", passed, c.title, "status " + std::to_string(status) + ", sentence: " + sentence);
  }
  suite.report.record("refusals", tik_attention_decode(nullptr) == TIK_INVALID_ARGUMENT, "NULL args");
  tik_attention_shape const odd = make_shape(8, 2, 96);
  tik_attention_limits const limits{1, 1, 1, 1};
  suite.report.record("refusals", tik_attention_workspace_bytes(&odd, &limits) < 0, "workspace of a refused shape");
  suite.report.record("refusals", tik_attention_workspace_bytes(nullptr, nullptr) < 0, "workspace of nothing");
  suite.report.record("refusals", tik_attention_abi_version() == TIK_ATTENTION_ABI_VERSION, "ABI version");
  for (Entry const entry : {Entry::full, Entry::extend, Entry::decode}) {
    Call call = make_call(entry, false);
    tik_attention_args small = call.args();
    if (small.workspace_bytes == 0) continue;
    small.workspace_bytes -= 1;
    suite.report.record("refusals", call_entry(entry, &small) == TIK_WORKSPACE_TOO_SMALL,
                        std::string(attention::function_name(entry)) + " with a workspace one byte short");
  }
}

} // namespace tik::gpu_suite
