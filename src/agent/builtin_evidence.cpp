#include "src/agent/builtin_evidence.h"

#include <fmt/format.h>

#include <algorithm>

namespace tik::agent {
namespace {

evaluator::Evidence const* find(evaluator::Report const& report, std::string_view name) {
  auto const found = std::find_if(report.evidence.begin(), report.evidence.end(),
                                  [&](evaluator::Evidence const& entry) { return entry.name == name && entry.available; });
  return found == report.evidence.end() ? nullptr : &*found;
}

// A member of what an evaluator wrote; null where there is none.
evaluator::Json member(evaluator::Json const& object, char const* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : evaluator::Json();
}

// A count; 0 where it is absent, as counts of things that did not occur are.
double number(evaluator::Json const& object, char const* key) {
  evaluator::Json const value = member(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

std::string text(evaluator::Json const& object, char const* key) {
  evaluator::Json const value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

void read_remarks(evaluator::Json const& data, Symptoms& symptoms) {
  double const missed = number(data, "missed"), loops = missed + number(data, "vectorized");
  if (loops == 0) return;
  std::string note = fmt::format("the compiler left {:.0f} of {:.0f} loops scalar", missed, loops);
  for (evaluator::Json const& loop : member(data, "loops")) {
    if (text(loop, "reason").empty()) continue;
    note += fmt::format(", {}:{:.0f} for: {}", text(loop, "file"), number(loop, "line"), text(loop, "reason"));
    break;
  }
  symptoms["not-vectorized"] = {missed / loops, std::move(note)};
}

// Instructions of all entry points together, by class.
struct Instructions {
  double scalar = 0, packed = 0, loads = 0, stores = 0;
  std::map<std::string, double> calls;
};

Instructions add_up(evaluator::Json const& data) {
  Instructions sum;
  for (evaluator::Json const& entry : member(data, "entry_points")) {
    evaluator::Json const classes = member(entry, "classes");
    for (auto const& [name, count] : classes.items()) {
      if (!count.is_number()) continue;
      if (name.starts_with("scalar_float_")) sum.scalar += count.get<double>();
      if (name.starts_with("packed_float_")) sum.packed += count.get<double>();
    }
    sum.loads += number(classes, "loads");
    sum.stores += number(classes, "stores");
    evaluator::Json const calls = member(entry, "external_calls");
    for (auto const& [name, count] : calls.items())
      if (count.is_number()) sum.calls[name] += count.get<double>();
  }
  return sum;
}

void read_instructions(evaluator::Json const& data, Symptoms& symptoms) {
  Instructions const sum = add_up(data);
  double const arithmetic = sum.scalar + sum.packed;
  if (arithmetic == 0) return;
  std::string called;
  for (auto const& [name, count] : sum.calls) called += (called.empty() ? "" : ", ") + name;
  symptoms["scalar-arithmetic"] = {
      sum.scalar / arithmetic, fmt::format("{:.0f} of {:.0f} floating-point instructions are scalar", sum.scalar, arithmetic)};
  symptoms["many-calls"] = {called.empty() ? 0.0 : 1.0,
                            called.empty() ? "no call out of the entry points" : "the entry points call " + called};
  symptoms["many-loads"] = {std::min(1.0, sum.loads / arithmetic / 2),
                            fmt::format("{:.0f} loads for {:.0f} floating-point instructions", sum.loads, arithmetic)};
  symptoms["many-stores"] = {std::min(1.0, sum.stores / arithmetic),
                             fmt::format("{:.0f} stores for {:.0f} floating-point instructions", sum.stores, arithmetic)};
}

} // namespace

Symptoms symptoms_of(evaluator::Report const& report) {
  Symptoms symptoms;
  if (evaluator::Evidence const* const compiler = find(report, "compiler")) read_remarks(compiler->data, symptoms);
  if (evaluator::Evidence const* const instructions = find(report, "instructions"))
    read_instructions(instructions->data, symptoms);
  return symptoms;
}

} // namespace tik::agent
