#include <fmt/format.h>

#include <algorithm>

#include "src/base/files.h"
#include "src/report/format.h"
#include "src/report/report.h"
#include "src/report/text_graph.h"

namespace tik::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string id_or(std::optional<ir::ImplementationId> id) { return id ? to_string(*id) : "none"; }

std::string optional_speedup(Attempt const& attempt) { return attempt.speedup ? ratio(*attempt.speedup) : "not measured"; }

std::string form_of(Attempt const& attempt) { return attempt.form ? std::string(to_string(*attempt.form)) : "-"; }

std::string layout_words(spec::Workload const& workload) {
  switch (workload.layout) {
    case spec::KvLayout::packed:
      return "packed";
    case spec::KvLayout::contiguous:
      return "contiguous";
    case spec::KvLayout::paged:
      return fmt::format("paged by {}", workload.page_size);
  }
  return "packed";
}

std::string summary(History const& history) {
  search::State const& state = history.state;
  std::size_t failed = 0;
  for (Attempt const& attempt : history.attempts) failed += attempt.verdict == Verdict::failed ? 1 : 0;
  std::int64_t const promotions = std::max<std::int64_t>(0, static_cast<std::int64_t>(state.promotions.size()) - 1);
  std::string text = fmt::format("# {}: report of the search\n\n", markdown_escape(history.specification.name));
  text += fmt::format("**{} is {} as fast as the root {}** (T {} against {}), after {} with {}; {} failed a check.\n\n",
                      id_or(state.incumbent), ratio(state.speedup()), id_or(state.root), latency(state.incumbent_total_us),
                      latency(state.root_total_us), count(state.steps, "audited candidate"), count(promotions, "promotion"),
                      failed);
  text += fmt::format(
      "Patience: {} of {} audits without improvement. Frontier: {}. Archive: {}. Pending opportunities: {}. Model tokens: "
      "{}.\n\n",
      state.patience_used, history.specification.stopping.patience, id_list(state.frontier), id_list(state.archive),
      state.pending.size(), state.model_tokens);
  return text;
}

std::string specification_section(History const& history) {
  spec::Specification const& spec = history.specification;
  std::string text = "## Specification\n\n";
  text += fmt::format(
      "Operator `{}` for target `{}`: {} query heads, {} KV heads, head dimension {}, softmax scale {:g}. Sealed under `{}` on "
      "{} "
      "(checks version {}).\n\n",
      spec.operator_name, spec.target, spec.shape.query_heads, spec.shape.kv_heads, spec.shape.head_dim,
      spec.shape.softmax_scale, history.identity.seal, history.identity.created_at, history.identity.checks_version);
  Rows rows = {{"workload", "entry point", "batch", "tokens", "prefix", "KV layout", "cache", "weight", "largest slowdown"}};
  for (spec::Workload const& workload : spec.workloads)
    rows.push_back({workload.id, std::string(to_string(workload.entry_point())), std::to_string(workload.batch),
                    std::to_string(workload.tokens), std::to_string(workload.prefix), layout_words(workload),
                    workload.cache == spec::CacheState::cold ? "cold" : "warm", fmt::format("{:g}", workload.weight),
                    ratio(workload.max_slowdown)});
  return text + markdown_table(rows, "llrrrllrr") + '\n';
}

std::string machine_section(History const& history) {
  std::string text = "## Machine\n\n";
  if (!history.root_report) return text + "Not recorded.\n\n";
  Rows rows = {{"what", "value"}};
  for (auto const& [key, value] : history.root_report->machine.items())
    rows.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  rows.push_back({"evaluator", history.root_report->evaluator_version});
  std::vector<std::string> const& layers = history.root_report->protections;
  rows.push_back({"protections", layers.empty() ? "none" : join(layers, ", ")});
  return text + markdown_table(rows, "ll") + '\n';
}

std::string latency_section(History const& history) {
  search::State const& state = history.state;
  std::string const best = id_or(state.incumbent);
  std::string text = "## Root against best\n\n![Latency by workload](latency.svg)\n\n";
  Rows rows = {{"workload", "root " + id_or(state.root), "best " + best, "root / best", "limit", "spread of best", "cache"}};
  for (WorkloadPair const& pair : workload_pairs(history)) {
    auto const& measured = history.best_report->workloads;
    auto const found = std::find_if(measured.begin(), measured.end(), [&](auto const& one) { return one.id == pair.id; });
    rows.push_back({pair.id, latency(pair.root_us), latency(pair.best_us), ratio(pair.root_us / pair.best_us),
                    latency(pair.limit_us),
                    fmt::format("{} ({:.1f} %)", latency(found->spread_us),
                                found->median_us > 0 ? 100 * found->spread_us / found->median_us : 0.0),
                    found->cache});
  }
  rows.push_back({"T (weighted sum)", latency(state.root_total_us), latency(state.incumbent_total_us), ratio(state.speedup()),
                  "", "", ""});
  return text + markdown_table(rows, "lrrrrrl") + '\n';
}

std::string promotions_section(History const& history) {
  std::string text = "## Speedup by step\n\n![Speedup by step](speedup.svg)\n\n";
  Rows rows = {{"step", "implementation", "T", "speedup", "form", "mechanism"}};
  for (search::Promotion const& promotion : history.state.promotions) {
    auto const found = std::find_if(history.attempts.begin(), history.attempts.end(),
                                    [&](Attempt const& attempt) { return attempt.id == promotion.implementation; });
    if (found == history.attempts.end()) continue;
    double const total = promotion.total_us;
    rows.push_back({std::to_string(promotion.step), to_string(promotion.implementation), latency(total),
                    total > 0 ? ratio(history.state.root_total_us / total) : "-", form_of(*found),
                    one_line(found->mechanism, 160)});
  }
  return text + markdown_table(rows, "rlrrll") + '\n';
}

std::string path_section(History const& history) {
  std::string text = "## The path to the best\n\n";
  for (Attempt const& attempt : history.attempts) {
    if (!attempt.on_best_path) continue;
    text += fmt::format("- **{}** ({}, {}", to_string(attempt.id), optional_speedup(attempt), outcome_words(attempt));
    if (!attempt.parents.empty()) text += fmt::format(", from {}, {}", id_list(attempt.parents), form_of(attempt));
    text += fmt::format("): {}\n", markdown_escape(attempt.mechanism));
  }
  std::vector<ir::ImplementationId> const stones = stepping_stones(history.state);
  text += stones.empty() ? "\nEvery ancestor of a promoted implementation was itself promoted.\n\n"
                         : fmt::format("\nVerified without promotion, yet a descendant was promoted: {}.\n\n", id_list(stones));
  return text;
}

// What became of the actions that took it; empty when none did.
std::string opportunity_outcome(History const& history, ir::Opportunity const& opportunity) {
  std::vector<std::string> outcomes;
  for (Attempt const& attempt : history.attempts)
    if (attempt.opportunity == opportunity.id)
      outcomes.push_back(fmt::format("{}: {}{}", to_string(attempt.id), outcome_words(attempt),
                                     attempt.speedup ? " at " + ratio(*attempt.speedup) : std::string()));
  return join(outcomes, "; ");
}

// A list that is long and rarely read: folded in where Markdown is shown as HTML.
std::string folded(std::string_view summary, Rows const& rows, std::string_view alignment) {
  if (rows.size() < 2) return "";
  return fmt::format("<details><summary>{}: {}</summary>\n\n{}\n</details>\n\n", summary, rows.size() - 1,
                     markdown_table(rows, alignment));
}

std::string opportunities_section(History const& history) {
  std::string text = "## What was tried\n\n";
  Rows taken = {{"opportunity", "kind", "mechanism", "for", "evidence", "outcome"}};
  Rows pending = {{"opportunity", "kind", "mechanism", "for", "evidence"}};
  Rows withdrawn = {{"opportunity", "kind", "mechanism", "for", "reason"}};
  for (ir::Opportunity const& opportunity : history.opportunities) {
    std::vector<std::string> row = {to_string(opportunity.id), std::string(to_string(opportunity.kind)),
                                    one_line(opportunity.mechanism, 160), id_list(opportunity.implementations)};
    std::string const outcome = opportunity_outcome(history, opportunity);
    auto const withdrawal = history.withdrawals.find(opportunity.id);
    if (withdrawal != history.withdrawals.end()) {
      row.push_back(withdrawal->second);
      withdrawn.push_back(std::move(row));
      continue;
    }
    row.push_back(id_list(opportunity.evidence));
    if (!outcome.empty()) row.push_back(outcome);
    (outcome.empty() ? pending : taken).push_back(std::move(row));
  }
  text += taken.size() > 1 ? markdown_table(taken, "llllll") + '\n' : "No opportunity was taken.\n\n";
  return text + folded("Pending opportunities", pending, "lllll") +
         folded("Opportunities withdrawn untried", withdrawn, "lllll");
}

std::string negative_section(History const& history) {
  std::string text = "## Negative evidence\n\n";
  Rows failed = {{"implementation", "from", "form", "stage", "what the audit found"}};
  Rows slower = {{"implementation", "from", "form", "outcome", "speedup", "mechanism"}};
  for (Attempt const& attempt : history.attempts) {
    if (attempt.verdict == Verdict::failed)
      failed.push_back({to_string(attempt.id), id_list(attempt.parents), form_of(attempt), attempt.failed_stage,
                        one_line(attempt.failure, 240)});
    else if (attempt.verdict != Verdict::promoted && attempt.verdict != Verdict::unaudited)
      slower.push_back({to_string(attempt.id), id_list(attempt.parents), form_of(attempt), outcome_words(attempt),
                        optional_speedup(attempt), one_line(attempt.mechanism, 160)});
  }
  text +=
      failed.size() > 1 ? "Failed a check:\n\n" + markdown_table(failed, "lllll") + '\n' : "No candidate failed a check.\n\n";
  text += slower.size() > 1 ? "Verified, but not promoted:\n\n" + markdown_table(slower, "llllrl") + '\n'
                            : "Every verified candidate was promoted.\n\n";
  for (ir::LineageDecision const& decision : history.decisions)
    if (decision.status == ir::BranchStatus::abandoned)
      text += fmt::format("- {} abandoned ({}): {}\n", to_string(decision.implementation), to_string(decision.id),
                          markdown_escape(decision.reason));
  return text + '\n';
}

std::string lineage_section(History const& history) {
  std::vector<Attempt> sorted = history.attempts;
  std::sort(sorted.begin(), sorted.end(), [](Attempt const& a, Attempt const& b) { return a.id > b.id; });
  std::map<ir::ImplementationId, Attempt const*> by_id;
  std::vector<GraphVertex> vertices;
  for (Attempt const& attempt : sorted) {
    by_id[attempt.id] = &attempt;
    vertices.push_back({attempt.id, attempt.parents,
                        attempt.verdict == Verdict::failed     ? "x"
                        : attempt.verdict == Verdict::promoted ? "*"
                                                               : "o"});
  }
  std::vector<GraphLine> const lines = draw_graph(vertices, {.unicode = false});
  std::size_t columns = 0;
  for (GraphLine const& line : lines) columns = std::max(columns, width(line.graph));
  std::string text = "## Lineage\n\n![Lineage](lineage.svg)\n\nNewest first; `*` promoted, `o` verified, `x` failed.\n\n```\n";
  for (GraphLine const& line : lines) {
    if (!line.id) {
      text += line.graph + '\n';
      continue;
    }
    Attempt const& attempt = *by_id.at(*line.id);
    text += fmt::format("{:<{}}  {:<5} {:<20} {:>8}  {}\n", line.graph, columns, to_string(attempt.id), outcome_words(attempt),
                        attempt.speedup ? ratio(*attempt.speedup) : "-", one_line(attempt.mechanism, 80));
  }
  return text + "```\n\n";
}

// Empty where no model was asked.
std::string usage_section(History const& history) {
  Usage const& usage = history.usage;
  if (usage.purposes.empty()) return "";
  search::State const& state = history.state;
  std::string text = "## Model usage\n\n";
  if (auto const value = efficiency(state.speedup(), state.model_tokens))
    text += fmt::format("{} tokens for {}: {}, by (S - 1) / (N / 10^6).\n\n![Efficiency by step](efficiency.svg)\n\n",
                        state.model_tokens, ratio(state.speedup()), efficiency_words(*value));
  Rows rows = {{"purpose", "model", "attempts", "failed", "estimated", "input tokens", "output tokens"}};
  for (PurposeUsage const& sum : usage.purposes)
    rows.push_back({sum.purpose, sum.model, std::to_string(sum.attempts), std::to_string(sum.failed),
                    std::to_string(sum.estimated), std::to_string(sum.input_tokens), std::to_string(sum.output_tokens)});
  text += markdown_table(rows, "llrrrrr") + '\n';
  Rows steps = {{"step", "speedup", "tokens", "efficiency"}};
  for (StepUsage const& step : usage.steps)
    steps.push_back({std::to_string(step.step), ratio(step.speedup), std::to_string(step.tokens),
                     fmt::format("{:.3g}", efficiency(step.speedup, step.tokens).value_or(0))});
  return text + folded("Efficiency by step", steps, "rrrr");
}

std::string method_section(History const& history) {
  spec::Measurement const& measurement = history.specification.measurement;
  return fmt::format(
      "## How it was measured\n\n"
      "- T is the sum of weight times latency over all workloads. The root's latencies are the fixed baselines of the search.\n"
      "- A candidate is measured in the same run as the incumbent of its time: {} to {} interleaved rounds after {} warm-up "
      "rounds, each "
      "at least {:g} us long{}. Its latency is the incumbent's recorded latency times the median ratio of both in the same "
      "rounds, so "
      "that drift of the machine cancels. Spread is the median absolute deviation of the candidate's own samples.\n"
      "- A gain of at most {:g} %, or within its own 95 % interval, is measured again in fresh processes up to {} times, and "
      "the "
      "smallest gain counts.\n"
      "- A candidate is verified when it builds and passes every check: bits of `full` against `decode` at every position, "
      "accuracy "
      "against an independent float64 reference, robustness. It is promoted when it is verified, measured on every workload, "
      "within "
      "every limit and strictly faster in T than the incumbent.\n"
      "- Every figure above comes from an audit record; `tik show ID` prints the record with its samples and evidence.\n",
      measurement.rounds, measurement.max_rounds, measurement.warmup, measurement.min_round_us,
      measurement.pin_cpu ? ", pinned to one core" : "", 100 * measurement.noise, measurement.repeats);
}

} // namespace

std::string markdown_report(History const& history) {
  return summary(history) + latency_section(history) + promotions_section(history) + path_section(history) +
         opportunities_section(history) + negative_section(history) + usage_section(history) + lineage_section(history) +
         specification_section(history) + machine_section(history) + method_section(history);
}

Result<std::filesystem::path> write_report(History const& history, std::filesystem::path const& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    return machine_error(
        fmt::format("{}: cannot be created: {}. Give another folder with --out.", folder.string(), failure.message()));
  std::string const& name = history.specification.name;
  std::vector<Attempt> audited = history.attempts;
  std::erase_if(audited, [](Attempt const& attempt) { return attempt.verdict == Verdict::unaudited; });
  std::string const best = id_or(history.state.incumbent);
  TIK_CHECK(write_file(folder / "speedup.svg", plot_speedup(name, audited)));
  TIK_CHECK(write_file(folder / "latency.svg", plot_latency(name, best, workload_pairs(history))));
  TIK_CHECK(write_file(folder / "lineage.svg", plot_lineage(name, history.attempts)));
  if (!history.usage.steps.empty())
    TIK_CHECK(write_file(folder / "efficiency.svg", plot_efficiency(name, history.usage.steps)));
  TIK_CHECK(write_file(folder / "report.md", markdown_report(history)));
  return folder / "report.md";
}

} // namespace tik::report
