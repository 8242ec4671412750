#include "src/cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/report/flatten.h"
#include "src/report/format.h"

namespace tik::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t most_differences = 60;

Paint paint_of(evaluator::Outcome outcome) {
  switch (outcome) {
    case evaluator::Outcome::passed:
      return Paint::good;
    case evaluator::Outcome::failed:
      return Paint::bad;
    case evaluator::Outcome::skipped:
      return Paint::quiet;
  }
  return Paint::plain;
}

std::string indented(std::string const& text, std::string const& indent) {
  std::string result = indent;
  for (char const letter : text) result += letter == '\n' ? "\n" + indent : std::string(1, letter);
  return result;
}

std::string stages_text(evaluator::Report const& report, Console const& console) {
  std::size_t longest = 0;
  for (evaluator::Stage const& stage : report.stages) longest = std::max(longest, stage.name.size());
  std::string text;
  for (evaluator::Stage const& stage : report.stages) {
    std::string const head = fmt::format("  {:<{}}  ", stage.name, longest);
    std::string const outcome = fmt::format("{:<7}", evaluator::to_string(stage.outcome));
    text += head + console.paint(outcome, paint_of(stage.outcome)) + fmt::format(" {:>7.2f} s  ", stage.seconds);
    std::size_t const indent = longest + 22;
    std::size_t const room = console.columns > indent + 30 ? console.columns - indent : 96;
    text += report::wrap(stage.message, room, indent) + '\n';
    if (stage.outcome != evaluator::Outcome::failed) continue;
    for (auto const& [path, value] : report::flatten(stage.details)) {
      bool const lines = value.find('\n') != std::string::npos;
      text += lines ? fmt::format("      {}:\n{}\n", path, indented(value, "        "))
                    : fmt::format("      {}: {}\n", path, value);
    }
  }
  return text;
}

std::string workloads_text(evaluator::Report const& report) {
  if (report.workloads.empty()) return "  no workload was measured\n";
  bool const interleaved = !report.incumbent_sha256.empty();
  Rows rows = {{"", "workload", "latency", "spread", "samples", "cache"}};
  if (interleaved) rows[0].push_back("of incumbent");
  for (evaluator::WorkloadMeasurement const& workload : report.workloads) {
    double const spread = workload.median_us > 0 ? 100 * workload.spread_us / workload.median_us : 0;
    rows.push_back({"", workload.id, report::latency(workload.latency_us), fmt::format("{:.1f} %", spread),
                    std::to_string(workload.samples_us.size()), workload.cache});
    if (interleaved) rows.back().push_back(fmt::format("{:.3f} +- {:.3f}", workload.ratio, workload.ratio_spread));
  }
  return report::text_table(rows, interleaved ? "llrrrlr" : "llrrrl");
}

std::string evidence_text(evaluator::Report const& report, Console const& console) {
  std::string text;
  for (evaluator::Evidence const& evidence : report.evidence) {
    if (!evidence.available) {
      text += fmt::format("  {}: {}: {}\n", evidence.name, console.paint("unavailable", Paint::warning), evidence.reason);
      continue;
    }
    text += fmt::format("  {} ({})\n", evidence.name, evidence.source);
    std::vector<std::pair<std::string, std::string>> const pairs = report::flatten(evidence.data);
    for (std::size_t i = 0; i < pairs.size() && i < 24; ++i)
      text += fmt::format("    {}: {}\n", pairs[i].first, report::one_line(pairs[i].second, 100));
    if (pairs.size() > 24) text += fmt::format("    and {} more; --json shows all\n", pairs.size() - 24);
  }
  return text.empty() ? "  none was collected\n" : text;
}

} // namespace

std::string report_text(evaluator::Report const& report, Console const& console) {
  std::string text =
      fmt::format("{} in {:.2f} s, {} by evaluator {}\n",
                  report.verified() ? console.paint("verified", Paint::good) : console.paint("not verified", Paint::bad),
                  report.seconds, report.started_at, report.evaluator_version);
  text += "stages\n" + stages_text(report, console);
  text += "latencies\n" + workloads_text(report);
  text += "evidence\n" + evidence_text(report, console);
  text += fmt::format("protections\n  {}\n", report.protections.empty() ? "none" : report::join(report.protections, ", "));
  return text;
}

std::string failure_text(evaluator::Report const& report) {
  for (evaluator::Stage const& stage : report.stages) {
    if (stage.outcome != evaluator::Outcome::failed) continue;
    std::string message = stage.message;
    while (message.ends_with('.')) message.pop_back(); // the line goes on behind it
    return fmt::format("{} failed: {}", stage.name, message);
  }
  return {};
}

std::string comparison_text(std::string const& left_name, evaluator::Report const& left, std::string const& right_name,
                            evaluator::Report const& right, Console const& console) {
  Rows stages = {{"stage", left_name, right_name}};
  for (evaluator::Stage const& stage : left.stages) {
    evaluator::Stage const* const other = right.find_stage(stage.name);
    stages.push_back({stage.name, std::string(evaluator::to_string(stage.outcome)),
                      other ? std::string(evaluator::to_string(other->outcome)) : "-"});
  }
  std::map<std::string, double> right_us;
  for (evaluator::WorkloadMeasurement const& workload : right.workloads) right_us[workload.id] = workload.latency_us;
  Rows workloads = {{"workload", left_name, right_name, left_name + "/" + right_name}};
  for (evaluator::WorkloadMeasurement const& workload : left.workloads) {
    auto const other = right_us.find(workload.id);
    bool const both = other != right_us.end() && other->second > 0;
    workloads.push_back({workload.id, report::latency(workload.latency_us),
                         both ? report::latency(other->second) : "not measured",
                         both ? report::ratio(workload.latency_us / other->second) : "-"});
  }
  std::string text = report::text_table(stages, "lll") + '\n' + report::text_table(workloads, "lrrr") + '\n';

  Rows evidence = {{"evidence", left_name, right_name}};
  std::size_t differences = 0;
  for (evaluator::Evidence const& mine : left.evidence)
    for (evaluator::Evidence const& other : right.evidence) {
      if (mine.name != other.name) continue;
      std::map<std::string, std::string> values;
      for (auto const& [path, value] : report::flatten(other.data)) values[path] = value;
      for (auto const& [path, value] : report::flatten(mine.data)) {
        auto const found = values.find(path);
        std::string const right_value = found == values.end() ? "-" : found->second;
        if (found != values.end()) values.erase(found);
        if (right_value == value || ++differences > most_differences) continue;
        evidence.push_back({mine.name + "." + path, report::one_line(value, 40), report::one_line(right_value, 40)});
      }
      for (auto const& [path, value] : values)
        if (++differences <= most_differences) evidence.push_back({mine.name + "." + path, "-", report::one_line(value, 40)});
    }
  if (differences == 0) return text + "the evidence does not differ\n";
  text += report::text_table(evidence, "lll");
  if (differences > most_differences)
    text += console.paint(
        fmt::format("and {} more differences; `tik show` with --json has all\n", differences - most_differences), Paint::quiet);
  return text;
}

} // namespace tik::cli
