#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/evaluator/compare.h"
#include "src/evaluator/stages.h"

namespace tik::evaluator {
namespace {

bool same_bits(Outputs const& a, Outputs const& b) {
  return a.out == b.out && std::equal(a.lse.begin(), a.lse.end(), b.lse.begin(), b.lse.end());
}

// A request that contradicts the contract in one place.
struct BadRequest {
  char const* what;
  void (*change)(tik_attention_args&);
};

template <class T>
T* moved(T* pointer, std::intptr_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(pointer) + bytes);
}

constexpr BadRequest bad_requests[] = {
    {"a struct_bytes of another version", [](tik_attention_args& args) { args.struct_bytes -= 8; }},
    {"a batch of 0", [](tik_attention_args& args) { args.batch = 0; }},
    {"a batch above its limit", [](tik_attention_args& args) { args.batch = args.limits.batch + 1; }},
    {"query heads that are no multiple of the key/value heads",
     [](tik_attention_args& args) {
       args.shape = {3, 2, args.shape.head_dim, args.shape.softmax_scale};
     }},
    {"a head_dim of 96", [](tik_attention_args& args) { args.shape.head_dim = 96; }},
    {"a softmax_scale of 0", [](tik_attention_args& args) { args.shape.softmax_scale = 0; }},
    {"a softmax_scale of NaN",
     [](tik_attention_args& args) { args.shape.softmax_scale = std::numeric_limits<float>::quiet_NaN(); }},
    {"queries that are NULL", [](tik_attention_args& args) { args.queries = nullptr; }},
    {"out that is NULL", [](tik_attention_args& args) { args.out = nullptr; }},
    {"keys that are NULL", [](tik_attention_args& args) { args.kv.keys = nullptr; }},
    {"out that is not aligned", [](tik_attention_args& args) { args.out = moved(args.out, 2); }},
    {"queries that are not aligned", [](tik_attention_args& args) { args.queries = moved(args.queries, 8); }},
    {"a query_token_stride of odd length", [](tik_attention_args& args) { args.query_token_stride += 4; }},
    {"output rows that overlap", [](tik_attention_args& args) { args.out_head_stride = 8; }},
    {"an unknown layout", [](tik_attention_args& args) { args.kv.layout = 7; }},
    {"neither lengths nor offsets", [](tik_attention_args& args) { args.query_offsets = nullptr, args.kv_lengths = nullptr; }},
};

// Two workers: `tried` is called in every way at once, `fresh` computes each answer for itself, elsewhere and in another order.
class Robustness {
 public:
  Robustness(StageContext const& context, Session& tried, Session& fresh)
      : context_(context), tried_arena_(tried), fresh_arena_(fresh), random_(context.seed ^ 0x726f62757374) {}

  Checked<void> check() {
    for (auto const kind : {spec::WorkloadKind::full, spec::WorkloadKind::extend, spec::WorkloadKind::decode}) {
      Dataset dataset = draw_dataset();
      CallShape const shape = call_shape(kind, dataset);
      tried_arena_.clear();
      Checked<Image> image = Image::place(tried_arena_, dataset, shape, random_);
      if (!image) return tl::unexpected(std::move(image.error()));
      if (auto checked = check_versions(*image, dataset, shape); !checked) return checked;
      if (auto checked = check_refusals(*image); !checked) return checked;
      if (kind == spec::WorkloadKind::decode) {
        if (auto checked = check_padding(*image, dataset, shape); !checked) return checked;
      }
    }
    return check_random_order();
  }

  Json counts() const {
    Json json = Json::object();
    for (auto const& [kind, count] : counts_) json[kind] = count;
    return json;
  }
  int total() const {
    int sum = 0;
    for (auto const& [kind, count] : counts_) sum += count;
    return sum;
  }

 private:
  Dataset draw_dataset() {
    std::vector<int> const tokens = {random_.between(20, 50), random_.between(1, 20), random_.between(50, 80)};
    return draw(contract_shape(context_.specification.shape), tokens, Distribution::normal, random_);
  }

  CallShape call_shape(spec::WorkloadKind kind, Dataset const& dataset) {
    std::vector<int> const& pages = context_.specification.checks.page_sizes;
    CallShape shape;
    shape.kind = kind;
    if (kind != spec::WorkloadKind::full) {
      bool const paged = !pages.empty() && random_.coin();
      shape.layout = paged ? spec::KvLayout::paged : spec::KvLayout::contiguous;
      if (paged) shape.page_size = pages[random_.next() % pages.size()];
    }
    for (int b = 0; b < static_cast<int>(dataset.sequences.size()); ++b) {
      int const tokens = dataset.sequences[static_cast<std::size_t>(b)].tokens;
      int const count = kind == spec::WorkloadKind::full     ? tokens
                        : kind == spec::WorkloadKind::decode ? 1
                                                             : random_.between(1, tokens);
      shape.rows.push_back({b, tokens - count, count});
    }
    return shape;
  }

  // What a worker that has not seen these buffers says.
  Checked<Outputs> answer(Dataset const& dataset, CallShape const& shape) {
    fresh_arena_.clear();
    Checked<Image> image = Image::place(fresh_arena_, dataset, shape, random_);
    if (!image) return tl::unexpected(std::move(image.error()));
    return image->run();
  }

  // One state of a call's inputs and what the tried worker made of it.
  struct Version {
    Dataset dataset;
    std::string change; // since the version before; empty: none
    Outputs outputs;
  };

  Checked<void> run_version(Image& image, Dataset const& dataset, std::string change, std::vector<Version>& versions) {
    std::string const before = image.input_hash();
    Checked<Outputs> outputs = image.run();
    if (!outputs) return tl::unexpected(std::move(outputs.error()));
    if (image.returned_input_hash() != before) return candidate_failure("A call changed its inputs.");
    versions.push_back({dataset, std::move(change), std::move(*outputs)});
    return {};
  }

  // The same call several times, then the same buffers with other content. The other worker answers the versions in reverse
  // order, so that whoever remembers results by address or by a part of the inputs remembers other ones there.
  Checked<void> check_versions(Image& image, Dataset& dataset, CallShape const& shape) {
    std::vector<Version> versions;
    if (auto returned = image.return_inputs(random_); !returned) return returned;
    image.use_graph(false); // once by itself; then one graph, launched again and again
    for (int i = 0; i < std::max(2, context_.specification.checks.repeats); ++i) {
      if (auto run = run_version(image, dataset, "", versions); !run) return run;
    }
    for (int i = 0; i < 3; ++i) {
      int const b = random_.between(0, static_cast<int>(shape.rows.size()) - 1);
      Rows const& rows = shape.rows[static_cast<std::size_t>(b)];
      int const token = random_.between(0, rows.first + rows.count - 1);
      redraw_token(dataset, rows.sequence, token, random_);
      image.write_token(dataset, b, token);
      if (auto run = run_version(image, dataset, "one key and value changed in place", versions); !run) return run;
    }
    for (Rows const& each : shape.rows) redraw_queries(dataset, each.sequence, each.first, each.count, random_);
    image.write_queries(dataset);
    if (auto run = run_version(image, dataset, "all queries changed in place", versions); !run) return run;
    for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
      Checked<Outputs> const expected = answer(version->dataset, shape);
      if (!expected) return tl::unexpected(expected.error());
      if (!same_bits(version->outputs, *expected)) {
        return candidate_failure(fmt::format("A call {} gave other bits than the same call in another process.",
                                             version->change.empty() ? "made again" : "after " + version->change));
      }
      counts_[version->change.empty() ? "repeated calls" : "changed inputs"] += 1;
    }
    return {};
  }

  Checked<void> check_refusals(Image& image) {
    for (BadRequest const& bad : bad_requests) {
      CallRequest request = image.request();
      bad.change(request.args);
      if (auto refused = image.run_refused(request, TIK_INVALID_ARGUMENT, bad.what); !refused) return refused;
      counts_["refusals"] += 1;
    }
    if (image.request().args.workspace_bytes == 0) return {};
    CallRequest request = image.request();
    request.args.workspace_bytes -= 1;
    counts_["refusals"] += 1;
    return image.run_refused(request, TIK_WORKSPACE_TOO_SMALL, "a workspace that is too small");
  }

  // A sequence of length 0 pads a batch: its row is zeros with log-sum-exp -infinity, and the others are as before.
  Checked<void> check_padding(Image& image, Dataset const& dataset, CallShape const& shape) {
    int const padded = random_.between(0, static_cast<int>(shape.rows.size()) - 1);
    image.set_length(padded, 0);
    Checked<Outputs> const outputs = image.run();
    if (!outputs) return tl::unexpected(outputs.error());
    Checked<Outputs> expected = answer(dataset, shape);
    if (!expected) return tl::unexpected(std::move(expected.error()));
    std::size_t const heads = static_cast<std::size_t>(dataset.shape.query_heads),
                      dim = static_cast<std::size_t>(dataset.shape.head_dim);
    std::size_t const row = static_cast<std::size_t>(padded) * heads;
    std::fill_n(expected->out.begin() + static_cast<std::ptrdiff_t>(row * dim), heads * dim, tik_bf16{0});
    std::fill_n(expected->lse.begin() + static_cast<std::ptrdiff_t>(row), heads, -std::numeric_limits<float>::infinity());
    if (!same_bits(*outputs, *expected)) {
      return candidate_failure(
          "A decode batch with a sequence of length 0 did not give zeros for it and the usual rows for the others.");
    }
    counts_["padded batches"] += 1;
    return {};
  }

  // Many calls of all kinds in one worker, in random order and number, against answers from the other worker.
  Checked<void> check_random_order() {
    std::vector<Dataset> datasets = {draw_dataset(), {}, draw_dataset()};
    // The same queries against other keys and values: what one entry point left behind for a query is wrong for another.
    datasets[1] = datasets[0];
    for (int b = 0; b < static_cast<int>(datasets[1].sequences.size()); ++b) {
      int const tokens = datasets[1].sequences[static_cast<std::size_t>(b)].tokens;
      redraw_token(datasets[1], b, random_.between(0, tokens - 1), random_);
    }
    struct Known {
      std::size_t dataset;
      CallShape shape;
      Outputs outputs;
    };
    std::vector<Known> known;
    for (std::size_t i = 0; i < datasets.size(); ++i) {
      for (auto const kind : {spec::WorkloadKind::full, spec::WorkloadKind::extend, spec::WorkloadKind::decode}) {
        CallShape shape = call_shape(kind, datasets[i]);
        Checked<Outputs> outputs = answer(datasets[i], shape);
        if (!outputs) return tl::unexpected(std::move(outputs.error()));
        known.push_back({i, std::move(shape), std::move(*outputs)});
      }
    }
    int const calls = random_.between(20, 40);
    for (int i = 0; i < calls; ++i) {
      Known const& wanted = known[random_.next() % known.size()];
      tried_arena_.clear();
      Checked<Image> image = Image::place(tried_arena_, datasets[wanted.dataset], wanted.shape, random_);
      if (!image) return tl::unexpected(std::move(image.error()));
      Checked<Outputs> const outputs = image->run();
      if (!outputs) return tl::unexpected(outputs.error());
      if (!same_bits(*outputs, wanted.outputs)) {
        return candidate_failure(
            fmt::format("In a random order of calls, call {} gave other bits than another process.", i + 1));
      }
      counts_["calls in random order"] += 1;
    }
    return {};
  }

  StageContext const& context_;
  Arena tried_arena_, fresh_arena_;
  Random random_;
  std::map<std::string, int> counts_;
};

} // namespace

Checked<StageText> check_robustness(StageContext const& context, BuiltImplementation const& candidate) {
  Checked<std::pair<Session, Session>> sessions = start_two_sessions(context, candidate);
  if (!sessions) return tl::unexpected(std::move(sessions.error()));
  auto& [tried, fresh] = *sessions;
  Robustness robustness(context, tried, fresh);
  if (auto checked = robustness.check(); !checked) {
    Failure failure = checked.error();
    if (!failure.error) failure.details["cases_passed"] = robustness.counts();
    return tl::unexpected(std::move(failure));
  }
  return StageText{
      fmt::format("{} calls with outputs poisoned, guards around every buffer and inputs compared.", robustness.total()),
      {{"cases", robustness.counts()}, {"workers", close_workers({&tried, &fresh})}}};
}

} // namespace tik::evaluator
