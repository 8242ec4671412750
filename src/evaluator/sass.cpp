#include "src/evaluator/sass.h"

#include <cctype>
#include <map>
#include <string>

#include "src/evaluator/kernel_name.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t most_kernels = 256, most_forms = 64;
constexpr int instruction_bytes = 16; // since Volta

struct Class {
  std::string_view prefix; // of the complete name of an instruction
  char const* name;
  bool form = false; // worth telling its complete names
};

// The first that fits decides.
constexpr Class classes[] = {
    {"HGMMA", "wgmma", true},
    {"QGMMA", "wgmma", true},
    {"IGMMA", "wgmma", true},
    {"HMMA", "mma", true},
    {"IMMA", "mma", true},
    {"WARPGROUP", "wgmma_order"},
    {"UTMALDG", "tma_load", true},
    {"UTMASTG", "tma_store", true},
    {"UTMAREDG", "tma_reduce", true},
    {"UBLKCP", "bulk_copy", true},
    {"LDGSTS", "async_copy", true},
    {"LDSM", "ldmatrix"},
    {"STSM", "stmatrix"},
    {"LDG.E.128", "global_load_128"},
    {"LDG.E.64", "global_load_64"},
    {"LDG", "global_load"},
    {"STG", "global_store"},
    {"LDS", "shared_load"},
    {"STS", "shared_store"},
    {"STAS", "cluster_store"},
    {"LDL", "spill_load"},
    {"STL", "spill_store"},
    {"REDUX", "warp_reduction"},
    {"RED", "atomic"},
    {"ATOM", "atomic"},
    {"MUFU.EX2", "ex2"},
    {"MUFU", "other_special_function"},
    {"F2F", "conversion"},
    {"I2F", "conversion"},
    {"F2I", "conversion"},
    {"FFMA", "ffma"},
    {"FMUL", "fmul"},
    {"FADD", "fadd"},
    {"FMNMX", "fmax"},
    {"SHFL", "shuffle"},
    {"SYNCS", "mbarrier"},
    {"BAR", "barrier"},
    {"WARPSYNC", "warp_order"},
    {"BRA", "branch"},
    {"NANOSLEEP", "sleep"},
};

struct Histogram {
  long instructions = 0;
  std::map<std::string, long> classes, forms;

  void add(std::string const& name) {
    instructions += 1;
    for (Class const& each : evaluator::classes) {
      if (!std::string_view(name).starts_with(each.prefix)) continue;
      classes[each.name] += 1;
      if (each.form && (forms.size() < most_forms || forms.contains(name))) forms[name] += 1;
      return;
    }
    classes["other"] += 1;
  }
  void add(Histogram const& other) {
    instructions += other.instructions;
    for (auto const& [name, count] : other.classes) classes[name] += count;
    for (auto const& [name, count] : other.forms) forms[name] += count;
  }
};

Json to_json(Histogram const& histogram) {
  return {{"instructions", histogram.instructions},
          {"bytes", histogram.instructions * instruction_bytes},
          {"classes", histogram.classes},
          {"forms", histogram.forms}};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  return text;
}

// "        /*0010*/                   @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;    /* 0x... */" gives "LDG.E.128"; nothing for
// other lines.
std::string instruction_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("/*") || line.starts_with("/* ")) return {};
  std::size_t const close = line.find("*/");
  if (close == std::string_view::npos) return {};
  line = trimmed(line.substr(close + 2));
  if (line.starts_with("@")) line = trimmed(line.substr(std::min(line.find(' '), line.size())));
  std::size_t end = 0;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '.' || line[end] == '_')) {
    ++end;
  }
  return std::string(line.substr(0, end));
}

} // namespace

Json summarize_sass(std::string_view text) {
  constexpr std::string_view mark = "Function : ";
  std::map<std::string, Histogram> kernels;
  Histogram* current = nullptr;
  for_each_line(text, [&](std::string_view line) {
    if (std::size_t const at = line.find(mark); at != std::string_view::npos) {
      std::string const name = kernel_name(std::string(line.substr(at + mark.size())));
      current = kernels.size() < most_kernels || kernels.contains(name) ? &kernels[name] : nullptr;
    } else if (current != nullptr) {
      if (std::string const name = instruction_of(line); !name.empty() && name != "NOP") current->add(name);
    }
  });
  Histogram total;
  Json listed = Json::array();
  for (auto const& [name, histogram] : kernels) {
    total.add(histogram);
    Json json = to_json(histogram);
    json["kernel"] = name;
    listed.push_back(std::move(json));
  }
  return {{"kernels", std::move(listed)}, {"total", to_json(total)}};
}

} // namespace tik::evaluator
