#include <array>
#include <string_view>
#include <utility>

#include "operators/linear/sm90/describe_algorithm.h"

namespace tik::operators::sm90 {
namespace {

// How the compiler spells a function made for an enumerator: the library's header has the names, and no function that tells
// them.
template <typename Enum, Enum Value>
constexpr std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}

template <typename Enum, int... Values>
std::array<std::string_view, sizeof...(Values)> spellings(std::integer_sequence<int, Values...>) {
  return {spelled<Enum, static_cast<Enum>(Values)>()...};
}

// What follows `prefix` in the name of the enumerator, or its number where this version of the header has no name.
template <typename Enum, int Count>
std::string name_of(std::string_view prefix, int value) {
  static auto const all = spellings<Enum>(std::make_integer_sequence<int, Count>{});
  if (value < 0 || value >= Count) return std::to_string(value);
  std::string_view const spelling = all[value];
  std::size_t const at = spelling.find(prefix);
  if (at == std::string_view::npos) return std::to_string(value);
  std::string_view const rest = spelling.substr(at + prefix.size());
  return std::string(rest.substr(0, rest.find_first_of("];,")));
}

int setting(cublasLtMatmulAlgo_t const& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  int value = 0; // some settings have two bytes
  std::size_t written = 0;
  bool const narrow = attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
  vendor_library().read_algorithm(&algorithm, attribute, &value, narrow ? sizeof(uint16_t) : sizeof value, &written);
  return value;
}

} // namespace

std::string describe(cublasLtMatmulAlgo_t const& algorithm) {
  auto const number = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) { return setting(algorithm, attribute); };
  auto const text = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) { return std::to_string(number(attribute)); };
  return "cuBLASLt algorithm " + text(CUBLASLT_ALGO_CONFIG_ID) + ", tile " +
         name_of<cublasLtMatmulTile_t, CUBLASLT_MATMUL_TILE_END>("CUBLASLT_MATMUL_TILE_",
                                                                 number(CUBLASLT_ALGO_CONFIG_TILE_ID)) +
         ", stages " +
         name_of<cublasLtMatmulStages_t, CUBLASLT_MATMUL_STAGES_END>("CUBLASLT_MATMUL_STAGES_",
                                                                     number(CUBLASLT_ALGO_CONFIG_STAGES_ID)) +
         ", cluster " +
         name_of<cublasLtClusterShape_t, CUBLASLT_CLUSTER_SHAPE_END>("CUBLASLT_CLUSTER_SHAPE_",
                                                                     number(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)) +
         ", inner shape " + text(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID) + ", split-K " + text(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) +
         ", reduction " + text(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) + ", swizzling " +
         text(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) + ", option " + text(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
}

} // namespace tik::operators::sm90
