#include "src/evaluator/ptxas.h"

#include <cctype>
#include <optional>

#include "src/evaluator/kernel_name.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

constexpr std::size_t most_kernels = 512, most_remarks = 64;

// The number that stands right before `words` in a line: "Used 168 registers" and " registers" give 168.
std::optional<long> number_before(std::string_view line, std::string_view words) {
  std::size_t const end = line.find(words);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
  if (begin == end || end - begin > 12) return std::nullopt;
  return std::stol(std::string(line.substr(begin, end - begin)));
}

// What stands between two apostrophes.
std::string quoted(std::string_view line) {
  std::size_t const begin = line.find('\'');
  std::size_t const end = begin == std::string_view::npos ? begin : line.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string() : std::string(line.substr(begin + 1, end - begin - 1));
}

void read_resources(std::string_view line, Json& kernel) {
  constexpr struct {
    std::string_view words;
    char const* key;
  } resources[] = {{" bytes stack frame", "stack_bytes"},
                   {" bytes spill stores", "spill_store_bytes"},
                   {" bytes spill loads", "spill_load_bytes"},
                   {" registers", "registers"},
                   {" barriers", "barriers"},
                   {" bytes smem", "static_shared_bytes"}};
  for (auto const& [words, key] : resources) {
    if (std::optional<long> const number = number_before(line, words)) kernel[key] = *number;
  }
}

} // namespace

bool is_nvcc(std::string_view compiler) { return compiler.substr(compiler.rfind('/') + 1) == "nvcc"; }

Json summarize_ptxas(std::string_view log) {
  Json kernels = Json::array(), remarks = Json::array();
  for_each_line(log, [&](std::string_view line) {
    if (line.find("Compiling entry function") != std::string_view::npos && kernels.size() < most_kernels) {
      kernels.push_back({{"kernel", kernel_name(quoted(line))},
                         {"registers", 0},
                         {"stack_bytes", 0},
                         {"spill_store_bytes", 0},
                         {"spill_load_bytes", 0},
                         {"barriers", 0},
                         {"static_shared_bytes", 0}});
    } else if (!kernels.empty()) {
      read_resources(line, kernels.back());
    }
    // "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ..."
    bool const remark = line.starts_with("ptxas") && line.find("(C7") != std::string_view::npos;
    if (remark && remarks.size() < most_remarks) remarks.push_back(valid_utf8(line.substr(0, 500)));
  });
  return {{"kernels", std::move(kernels)}, {"remarks", std::move(remarks)}};
}

} // namespace tik::evaluator
