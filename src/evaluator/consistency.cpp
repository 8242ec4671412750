#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "src/evaluator/compare.h"
#include "src/evaluator/parallel.h"
#include "src/evaluator/stages.h"

namespace tik::evaluator {
namespace {

// One drawn problem: sequences of a prompt and a response, and what full says about them.
struct Problem {
  int prompt = 0, response = 0, batch = 1, ratio = 1;
  std::string words() const {
    return fmt::format("prompt {}, response {}, batch {}, {} query heads a key/value head", prompt, response, batch, ratio);
  }
};

struct Layout {
  spec::KvLayout layout;
  int page_size;
};

std::vector<Problem> all_problems(spec::Specification const& specification) {
  spec::Checks const& checks = specification.checks;
  int const own = specification.shape.query_heads / specification.shape.kv_heads;
  std::vector<int> ratios = {own};
  for (int const ratio : checks.query_heads_per_kv) {
    if (std::find(ratios.begin(), ratios.end(), ratio) == ratios.end()) ratios.push_back(ratio);
  }
  std::vector<Problem> problems;
  for (int const ratio : ratios) {
    for (int const prompt : checks.prompts) {
      for (int const response : checks.responses) {
        for (int const batch : checks.batches) problems.push_back({prompt, response, batch, ratio});
      }
    }
  }
  return problems;
}

std::vector<Layout> all_layouts(spec::Checks const& checks) {
  std::vector<Layout> layouts = {{spec::KvLayout::contiguous, 0}};
  for (int const page_size : checks.page_sizes) layouts.push_back({spec::KvLayout::paged, page_size});
  return layouts;
}

// The shape of the specification, or for another ratio a small one of that ratio.
tik_attention_shape shape_for(spec::AttentionShape const& own, int ratio) {
  tik_attention_shape shape = contract_shape(own);
  if (ratio * own.kv_heads == own.query_heads) return shape;
  shape.kv_heads = ratio <= 4 ? 2 : 1;
  shape.query_heads = ratio * shape.kv_heads;
  return shape;
}

// Random chunks that cover all tokens of a sequence, in order.
std::vector<Rows> cut(int sequence, int tokens, Random& random) {
  std::vector<Rows> chunks;
  for (int first = 0; first < tokens;) {
    int const left = tokens - first;
    int const count = random.coin() ? random.between(1, left) : random.between(1, std::min(left, 20));
    chunks.push_back({sequence, first, count});
    first += count;
  }
  return chunks;
}

Json to_json(std::map<std::string, int> const& counts) {
  Json json = Json::object();
  for (auto const& [kind, count] : counts) json[kind] = count;
  return json;
}

constexpr int steps_in_place = 16; // decode steps in one layout before it is laid out anew

// Two workers: one only ever runs full, the other only decode and extend, so that neither can hand the other its results.
class Consistency {
 public:
  Consistency(StageContext const& context, Session& full, Session& cached)
      : context_(context), full_(full), cached_(cached), random_(context.seed) {}

  // `number` names the problem: what is drawn for it follows from that and the seed, whichever group it falls to.
  Checked<void> check(Problem const& problem, std::size_t number) {
    random_ = Random(context_.seed ^ (0x636f6e7369730000 + number));
    next_layout_ = number;
    std::vector<int> tokens = {problem.prompt + problem.response};
    while (static_cast<int>(tokens.size()) < problem.batch) {
      tokens.push_back(random_.between(1, problem.prompt) + problem.response);
    }
    Dataset const dataset = draw(shape_for(context_.specification.shape, problem.ratio), tokens, Distribution::normal, random_);
    CallShape const whole = full_shape(dataset, order(dataset));
    Checked<Outputs> const outputs = run(full_, dataset, whole);
    if (!outputs) return failed(outputs.error(), "full", problem, {spec::KvLayout::packed, 0});
    Truth const truth(dataset, whole, *outputs);
    if (auto checked = check_full(problem, dataset, truth); !checked) return checked;
    for (Layout const& layout : all_layouts(context_.specification.checks)) {
      if (auto checked = check_decode(problem, dataset, truth, layout); !checked) return checked;
    }
    std::vector<Layout> const layouts = all_layouts(context_.specification.checks);
    for (int i = 0; i < context_.specification.checks.cuts; ++i) {
      Layout const& layout = layouts[next_layout_++ % layouts.size()];
      if (auto checked = check_extend(problem, dataset, truth, layout); !checked) return checked;
    }
    return {};
  }

  std::map<std::string, int> const& counts() const { return counts_; }

 private:
  static std::vector<int> order(Dataset const& dataset) {
    std::vector<int> sequences(dataset.sequences.size());
    for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i] = static_cast<int>(i);
    return sequences;
  }

  static CallShape full_shape(Dataset const& dataset, std::vector<int> const& sequences) {
    CallShape shape;
    for (int const sequence : sequences)
      shape.rows.push_back({sequence, 0, dataset.sequences[static_cast<std::size_t>(sequence)].tokens});
    return shape;
  }

  Checked<Outputs> run(Session& session, Dataset const& dataset, CallShape const& shape) {
    Arena& arena = &session == &full_ ? full_arena_ : cached_arena_;
    arena.clear();
    Checked<Image> image = Image::place(arena, dataset, shape, random_);
    if (!image) return tl::unexpected(std::move(image.error()));
    return image->run();
  }

  tl::unexpected<Failure> failed(Failure failure, std::string const& call, Problem const& problem, Layout const& layout) const {
    if (failure.error) return tl::unexpected(std::move(failure));
    std::string const words = fmt::format("{}, {}", problem.words(), describe_layout(layout.layout, layout.page_size));
    if (!failure.details.contains("first_mismatch"))
      failure.message = fmt::format("In {} ({}): {}", call, words, failure.message);
    failure.details["case"] = words;
    failure.details["call"] = call;
    failure.details["cases_passed"] = to_json(counts_);
    return tl::unexpected(std::move(failure));
  }

  Checked<void> compare(Session& session, Problem const& problem, Dataset const& dataset, Truth const& truth,
                        CallShape const& shape, std::string const& kind) {
    Layout const layout{shape.layout, shape.page_size};
    Checked<Outputs> const outputs = run(session, dataset, shape);
    if (!outputs) return failed(outputs.error(), kind, problem, layout);
    return check_same(problem, truth, shape, *outputs, kind);
  }

  Checked<void> check_same(Problem const& problem, Truth const& truth, CallShape const& shape, Outputs const& outputs,
                           std::string const& kind) {
    Layout const layout{shape.layout, shape.page_size};
    std::string const words = fmt::format("{}, {}", problem.words(), describe_layout(layout.layout, layout.page_size));
    if (auto same = truth.compare(shape, outputs, kind, words); !same) return failed(same.error(), kind, problem, layout);
    counts_[kind] += 1;
    return {};
  }

  // A prompt without its response, a sequence without its neighbours, and the sequences in another order.
  Checked<void> check_full(Problem const& problem, Dataset const& dataset, Truth const& truth) {
    CallShape prompt;
    prompt.rows = {{0, 0, problem.prompt}};
    if (auto checked = compare(full_, problem, dataset, truth, prompt, "prompt alone"); !checked) return checked;
    if (problem.batch == 1) return {};
    CallShape const alone = full_shape(dataset, {random_.between(0, problem.batch - 1)});
    if (auto checked = compare(full_, problem, dataset, truth, alone, "sequence alone"); !checked) return checked;
    std::vector<int> sequences = order(dataset);
    std::reverse(sequences.begin(), sequences.end());
    return compare(full_, problem, dataset, truth, full_shape(dataset, sequences), "packed in another order");
  }

  // Every response token of every sequence, in a batch; the first also alone. As in a rollout, a token joins the cache just
  // before its query; from time to time everything moves to other places.
  Checked<void> check_decode(Problem const& problem, Dataset const& dataset, Truth const& truth, Layout const& layout) {
    for (int first = 0; first < problem.response; first += steps_in_place) {
      int const end = std::min(first + steps_in_place, problem.response);
      if (auto checked = check_steps(problem, dataset, truth, layout, first, end); !checked) return checked;
    }
    if (problem.batch == 1) return {};
    CallShape alone{spec::WorkloadKind::decode, {}, layout.layout, layout.page_size, false};
    alone.rows = {{0, dataset.sequences[0].tokens - 1, 1}};
    return compare(cached_, problem, dataset, truth, alone, "decode alone");
  }

  // Response tokens first .. end - 1.
  Checked<void> check_steps(Problem const& problem, Dataset const& dataset, Truth const& truth, Layout const& layout, int first,
                            int end) {
    CallShape step{spec::WorkloadKind::decode, {}, layout.layout, layout.page_size, false};
    for (int b = 0; b < problem.batch; ++b) {
      step.rows.push_back({b, dataset.sequences[static_cast<std::size_t>(b)].tokens - problem.response + end - 1, 1});
    }
    random_.shuffle(step.rows);
    cached_arena_.clear();
    Checked<Image> image = Image::place(cached_arena_, dataset, step, random_);
    if (!image) return failed(image.error(), "decode", problem, layout);
    int const rows = static_cast<int>(step.rows.size());
    for (int b = 0; b < rows; ++b) {
      int& position = step.rows[static_cast<std::size_t>(b)].first;
      for (int i = first; i < end; ++i) image->erase_token(b, position--);
    }
    for (int i = first; i < end; ++i) {
      for (int b = 0; b < rows; ++b) image->advance(dataset, b, ++step.rows[static_cast<std::size_t>(b)].first);
      image->write_queries(dataset);
      Checked<Outputs> const outputs = image->run();
      if (!outputs) return failed(outputs.error(), "decode", problem, layout);
      if (auto same = check_same(problem, truth, step, *outputs, "decode"); !same) return same;
    }
    return {};
  }

  Checked<void> check_extend(Problem const& problem, Dataset const& dataset, Truth const& truth, Layout const& layout) {
    std::vector<std::vector<Rows>> chunks;
    std::size_t longest = 0;
    for (int b = 0; b < problem.batch; ++b) {
      chunks.push_back(cut(b, dataset.sequences[static_cast<std::size_t>(b)].tokens, random_));
      longest = std::max(longest, chunks.back().size());
    }
    for (std::size_t i = 0; i < longest; ++i) {
      CallShape shape{spec::WorkloadKind::extend, {}, layout.layout, layout.page_size, false};
      for (std::vector<Rows> const& sequence : chunks) {
        if (i < sequence.size()) shape.rows.push_back(sequence[i]);
      }
      if (auto checked = compare(cached_, problem, dataset, truth, shape, "extend"); !checked) return checked;
    }
    return {};
  }

  StageContext const& context_;
  Session& full_;
  Session& cached_;
  Arena full_arena_{full_}, cached_arena_{cached_};
  Random random_;
  std::size_t next_layout_ = 0;
  std::map<std::string, int> counts_;
};

// Problems, handed out to groups as they get to them: workers start one after another.
class Problems {
 public:
  explicit Problems(StageContext const& context) : all_(all_problems(context.specification)) {
    Random random(context.seed ^ 0x6f72646572);
    random.shuffle(all_);
    // The large ones first, so that all groups end at about the same time.
    auto const tokens = [](Problem const& problem) { return (problem.prompt + problem.response) * problem.batch; };
    if (context.gpu()) {
      std::stable_sort(all_.begin(), all_.end(), [&](Problem const& a, Problem const& b) { return tokens(a) > tokens(b); });
    }
  }
  std::size_t count() const { return all_.size(); }
  Problem const& operator[](std::size_t number) const { return all_[number]; }
  // The number of a problem that no group has; at least count() when there is none.
  std::size_t take() { return next_++; }
  // Whoever takes another one finds none.
  void stop() { next_ = all_.size(); }

 private:
  std::vector<Problem> all_;
  std::atomic<std::size_t> next_ = 0;
};

// Problems until none is left, with two workers of their own.
Checked<std::map<std::string, int>> check_group(StageContext const& context, BuiltImplementation const& candidate,
                                                Problems& problems, Json& workers) {
  Checked<std::pair<Session, Session>> sessions = start_two_sessions(context, candidate);
  if (!sessions) return tl::unexpected(std::move(sessions.error()));
  auto& [full, cached] = *sessions;
  Consistency consistency(context, full, cached);
  for (std::size_t number = problems.take(); number < problems.count(); number = problems.take()) {
    if (auto checked = consistency.check(problems[number], number); !checked) {
      problems.stop();
      return tl::unexpected(checked.error());
    }
    context.report_progress(static_cast<double>(number + 1) / static_cast<double>(problems.count()));
  }
  workers = close_workers({&full, &cached});
  return consistency.counts();
}

} // namespace

Checked<StageText> check_consistency(StageContext const& context, BuiltImplementation const& candidate) {
  Problems problems(context);
  std::size_t const groups = std::min(groups_of(context), problems.count());
  std::vector<std::map<std::string, int>> counts(groups);
  std::vector<Json> workers(groups);
  auto const checked = in_parallel(groups, [&](std::size_t group) -> Checked<void> {
    Checked<std::map<std::string, int>> counted = check_group(context, candidate, problems, workers[group]);
    if (!counted) return tl::unexpected(counted.error());
    counts[group] = std::move(*counted);
    return {};
  });
  if (!checked) return tl::unexpected(checked.error());
  std::map<std::string, int> all;
  int total = 0;
  for (std::map<std::string, int> const& group : counts) {
    for (auto const& [kind, count] : group) all[kind] += count, total += count;
  }
  return StageText{fmt::format("{} calls agree bit for bit with full.", total),
                   {{"cases", to_json(all)}, {"workers", workers_together(workers)}}};
}

} // namespace tik::evaluator
