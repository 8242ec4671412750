#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "src/evaluator/evidence.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t most_functions = 200; // listed in a report

// x86-64 only; another architecture has no mnemonic that matches and counts as "other".
struct Histogram {
  std::map<std::string, int> classes;
  std::map<std::string, int> calls; // functions of other libraries, by name
  int instructions = 0, bytes = 0, vector_bytes = 0;

  void add(Histogram const& other) {
    for (auto const& [name, count] : other.classes) classes[name] += count;
    for (auto const& [name, count] : other.calls) calls[name] += count;
    instructions += other.instructions;
    bytes += other.bytes;
    vector_bytes = std::max(vector_bytes, other.vector_bytes);
  }
};

struct Function {
  Histogram histogram;
  std::set<std::string> callees; // in this library
  std::uint64_t begin = 0;
};

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}

int register_bytes(std::string_view operands) {
  if (operands.find("%zmm") != std::string_view::npos) return 64;
  if (operands.find("%ymm") != std::string_view::npos) return 32;
  return operands.find("%xmm") != std::string_view::npos ? 16 : 0;
}

// "add", "multiply", "fma", or "other" for an instruction on floating-point numbers; empty for any other.
std::string_view float_operation(std::string_view mnemonic) {
  if (!ends_with_any(mnemonic, {"ss", "sd", "ps", "pd"})) return {};
  if (mnemonic.starts_with('v')) mnemonic.remove_prefix(1);
  if (mnemonic.starts_with("mov") || mnemonic.starts_with("broadcast") || mnemonic.starts_with("gather")) return {};
  if (mnemonic.starts_with("fm") || mnemonic.starts_with("fnm")) return "fma";
  if (mnemonic.starts_with("mul")) return "multiply";
  if (mnemonic.starts_with("add") || mnemonic.starts_with("sub") || mnemonic.starts_with("hadd")) return "add";
  return "other";
}

// In AT&T order the last operand is written.
void count_memory(std::string_view mnemonic, std::string_view operands, std::map<std::string, int>& classes) {
  if (mnemonic.starts_with("lea") || mnemonic.starts_with("nop") || mnemonic.starts_with("prefetch")) return;
  std::size_t const open = operands.find('(');
  if (open == std::string_view::npos) return;
  std::size_t const close = operands.find(')', open);
  bool const last = close != std::string_view::npos && operands.find(',', close) == std::string_view::npos;
  bool const compares = mnemonic.starts_with("cmp") || mnemonic.starts_with("test") || mnemonic.starts_with("ucomis") ||
                        mnemonic.starts_with("comis") || mnemonic.starts_with("vucomis") || mnemonic.starts_with("vcomis");
  bool const single = operands.find(',') == std::string_view::npos || operands.find(',') > open;
  bool const writes = last && !compares && !(single && close + 1 == operands.size() && mnemonic.starts_with("push"));
  classes[writes && !(single && (mnemonic.starts_with("idiv") || mnemonic.starts_with("div"))) ? "stores" : "loads"] += 1;
}

// "8b94:  call  aab0 <name>" without the address.
void count_instruction(std::string_view text, Function& function) {
  std::size_t const space = text.find(' ');
  std::string_view const mnemonic = text.substr(0, space);
  std::string_view operands = space == std::string_view::npos ? std::string_view() : text.substr(space);
  while (operands.starts_with(' ')) operands.remove_prefix(1);
  Histogram& histogram = function.histogram;
  histogram.instructions += 1;
  bool const call = mnemonic.starts_with("call"), jump = mnemonic.starts_with('j');
  if (call || jump) {
    histogram.classes[call ? "calls" : "branches"] += 1;
    std::size_t const open = operands.find('<');
    if (open == std::string_view::npos || !operands.ends_with('>')) return;
    std::string target(operands.substr(open + 1, operands.size() - open - 2));
    if (std::size_t const plt = target.find("@plt"); plt != std::string::npos) {
      histogram.calls[target.substr(0, plt)] += 1;
    } else if (target.find("+0x") == std::string::npos) {
      function.callees.insert(std::move(target));
    }
    return;
  }
  count_memory(mnemonic, operands, histogram.classes);
  std::string_view const operation = float_operation(mnemonic);
  if (operation.empty()) {
    histogram.classes["other"] += 1;
    return;
  }
  bool const packed = ends_with_any(mnemonic, {"ps", "pd"});
  histogram.classes[(packed ? "packed_float_" : "scalar_float_") + std::string(operation)] += 1;
  if (packed && operation != "other") histogram.vector_bytes = std::max(histogram.vector_bytes, register_bytes(operands));
}

bool computes(Function const& function) {
  for (auto const& [name, count] : function.histogram.classes) {
    if (name.starts_with("packed_float_") || name.starts_with("scalar_float_")) return true;
  }
  return false;
}

std::map<std::string, Function> read_functions(std::string_view disassembly) {
  std::map<std::string, Function> functions;
  Function* current = nullptr;
  while (!disassembly.empty()) {
    std::size_t const end = std::min(disassembly.find('\n'), disassembly.size());
    std::string_view line = disassembly.substr(0, end);
    disassembly.remove_prefix(std::min(end + 1, disassembly.size()));
    std::size_t const skip = line.find_first_not_of(' ');
    if (skip == std::string_view::npos) continue;
    line.remove_prefix(skip);
    std::uint64_t address = 0;
    auto const [rest, problem] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    if (problem != std::errc()) continue;
    std::string_view const after = line.substr(static_cast<std::size_t>(rest - line.data()));
    if (after.starts_with(" <") && after.ends_with(">:")) {
      current = &functions[std::string(after.substr(2, after.size() - 4))];
      current->begin = address;
    } else if (current != nullptr && after.starts_with(":\t")) {
      current->histogram.bytes = static_cast<int>(address - current->begin);
      count_instruction(after.substr(2), *current);
    }
  }
  return functions;
}

// What an entry point can come to by direct calls.
std::set<std::string> reachable(std::map<std::string, Function> const& functions, std::string const& from) {
  std::set<std::string> seen;
  std::vector<std::string> open = {from};
  while (!open.empty()) {
    std::string const name = std::move(open.back());
    open.pop_back();
    auto const function = functions.find(name);
    if (function == functions.end() || !seen.insert(name).second) continue;
    open.insert(open.end(), function->second.callees.begin(), function->second.callees.end());
  }
  return seen;
}

Json to_json(Histogram const& histogram) {
  Json classes = Json::object(), calls = Json::object();
  for (auto const& [name, count] : histogram.classes) classes[name] = count;
  for (auto const& [name, count] : histogram.calls) calls[valid_utf8(name)] = count;
  return {{"bytes", histogram.bytes},
          {"instructions", histogram.instructions},
          {"vector_bytes", histogram.vector_bytes},
          {"classes", classes},
          {"external_calls", calls}};
}

} // namespace

Json summarize_instructions(std::string_view disassembly, std::vector<std::string> const& entry_points) {
  std::map<std::string, Function> const functions = read_functions(disassembly);
  Json entries = Json::array(), listed = Json::array();
  Histogram total;
  for (auto const& [name, function] : functions) {
    total.add(function.histogram);
    if (!computes(function) || listed.size() >= most_functions) continue;
    Json json = to_json(function.histogram);
    json["name"] = valid_utf8(name);
    listed.push_back(std::move(json));
  }
  for (std::string const& symbol : entry_points) {
    Histogram sum;
    Json names = Json::array();
    for (std::string const& name : reachable(functions, symbol)) {
      Function const& function = functions.at(name);
      if (!computes(function)) continue;
      sum.add(function.histogram);
      names.push_back(valid_utf8(name));
    }
    Json json = to_json(sum);
    json["symbol"] = valid_utf8(symbol);
    json["functions"] = std::move(names);
    entries.push_back(std::move(json));
  }
  return {{"counted", "functions that compute with floating-point numbers and are reached by direct calls"},
          {"entry_points", std::move(entries)},
          {"functions", std::move(listed)},
          {"total", to_json(total)}};
}

} // namespace tik::evaluator
