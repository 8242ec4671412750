// Facts about one k16 step of the tensor core: signed zeros, subnormals, infinities, cancellation, what is cut off.
#include <cstdio>

#include "tests/gpu/hardware_tile.h"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

using namespace hardware;

// One k16 step in which all operands are zero but those given: A[:, 0] = x0, A[:, 1] = x1, B[:, 0] = y0, B[:, 1] = y1, and all
// other B = others. Every element of the tile gets the same value: result[0] by mma.sync, result[1] by wgmma; ~1 when the
// elements of a tile differ.
struct Step {
  uint16_t x0, x1, y0, y1, others;
  float accumulator;
};

__global__ void __launch_bounds__(threads, 1) step_kernel(Step const* steps, uint32_t* results) {
  extern __shared__ __align__(128) unsigned char memory[];
  Tile& tile = *reinterpret_cast<Tile*>(memory);
  Step const step = steps[blockIdx.x];
  for (int i = threadIdx.x; i < rows * 16; i += threads) {
    int const k = i % 16;
    tile.a[element(i / 16, k)] = k == 0 ? step.x0 : k == 1 ? step.x1 : 0;
    tile.b[element(i / 16, k)] = k == 0 ? step.y0 : k == 1 ? step.y1 : step.others;
  }
  publish();
  __syncthreads();
  int const lane = threadIdx.x % 32;
  float d[2][4];
  for (int i = 0; i < 8; ++i) d[i / 4][i % 4] = step.accumulator;
  mma_chain(d[0], tile.a, threadIdx.x / 32 * 16, tile.b, 0, 1, lane);
  wgmma_fence();
  Wgmma<8>::run(d[1], tile_descriptor(tile.a, core_bytes, along_rows), tile_descriptor(tile.b, core_bytes, along_rows), 1);
  wgmma_wait();
  for (int form = 0; form < 2; ++form) {
    uint32_t const bits = __float_as_uint(d[form][0]);
    bool same = true;
    for (int i = 1; i < 4; ++i) same &= __float_as_uint(d[form][i]) == bits;
    same = __syncthreads_and(same);
    uint32_t const first = __shfl_sync(~0u, bits, 0);
    same = __syncthreads_and(same && bits == first);
    if (threadIdx.x == 0) results[2 * blockIdx.x + form] = same ? bits : ~1u;
  }
}

constexpr uint16_t bf16_zero = 0, bf16_minus_zero = 0x8000, bf16_one = 0x3f80, bf16_minus_one = 0xbf80, bf16_infinity = 0x7f80,
                   bf16_largest = 0x7f7f, bf16_smallest = 0x0001; // 2^-133
constexpr uint16_t power_of_two(int exponent) {                   // 2^exponent as bfloat16
  return exponent >= -126 ? (exponent + 127) << 7 : 1 << (exponent + 133);
}

struct Fact {
  char const* what;
  Step step;
  uint32_t expected;
};

float from_bits(uint32_t bits) {
  float value;
  static_assert(sizeof(value) == sizeof(bits));
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

std::vector<Fact> facts() {
  auto const product = [](uint16_t x, uint16_t y, float accumulator) { return Step{x, 0, y, 0, 0, accumulator}; };
  auto const idle = [](uint16_t others, uint32_t accumulator) {
    return Step{0, 0, others, others, others, from_bits(accumulator)};
  };
  return {
      {"a subnormal input counts in full", product(power_of_two(-130), power_of_two(20), 0), 0x08800000},
      {"a subnormal result is kept", product(power_of_two(-70), power_of_two(-70), 0), 0x00000200},
      {"a product below the subnormals is +0", product(power_of_two(-80), power_of_two(-80), 0), 0},
      {"a negative product below the subnormals is +0", product(power_of_two(-80), 0x8000 | power_of_two(-80), 0), 0},
      {"a subnormal accumulator is kept", product(0, bf16_one, from_bits(1)), 1},
      {"an overflow is infinity", product(power_of_two(127), power_of_two(127), 0), 0x7f800000},
      {"infinity times one is infinity", product(bf16_infinity, bf16_one, 0), 0x7f800000},
      {"infinity times zero is NaN", product(0, bf16_infinity, 0), 0x7fffffff},
      {"infinity minus infinity is NaN", product(bf16_infinity, bf16_one, from_bits(0xff800000)), 0x7fffffff},
      {"one minus one is +0", product(bf16_one, bf16_minus_one, 1), 0},
      {"bits below the last are cut, not rounded", product(power_of_two(-24), 0x3fc0, 1), 0x3f800000},
      {"an idle step keeps +0", idle(bf16_one, 0), 0},
      {"an idle step turns -0 into +0", idle(bf16_one, 0x80000000), 0},
      {"an idle step of negative values turns -0 into +0", idle(bf16_minus_one, 0x80000000), 0},
      {"an idle step of zeros turns -0 into +0", idle(bf16_zero, 0x80000000), 0},
      {"an idle step of -0 turns -0 into +0", idle(bf16_minus_zero, 0x80000000), 0},
      {"an idle step keeps the smallest subnormal", idle(bf16_one, 1), 1},
      {"an idle step keeps a negative subnormal", idle(bf16_one, 0x80012345), 0x80012345},
      {"an idle step keeps an odd number", idle(bf16_minus_one, 0x3f9e0651), 0x3f9e0651},
      {"an idle step of the largest value keeps a small number", idle(bf16_largest, 0x1f9e0651), 0x1f9e0651},
      {"an idle step of the largest value keeps a subnormal", idle(bf16_largest, 0x00012345), 0x00012345},
      {"an idle step of the smallest value keeps a large number", idle(bf16_smallest, 0x7f7fffff), 0x7f7fffff},
      {"an idle step keeps infinity", idle(bf16_one, 0x7f800000), 0x7f800000},
      {"an idle step keeps -infinity", idle(bf16_one, 0xff800000), 0xff800000},
  };
}

} // namespace

void check_steps(Suite& suite) {
  std::vector<Step> steps;
  for (Fact const& fact : facts()) steps.push_back(fact.step);
  Buffer<Step> const device_steps(steps);
  Buffer<uint32_t> const results(2 * steps.size());
  require(cudaFuncSetAttribute(step_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Tile)), "asking for memory");
  step_kernel<<<static_cast<int>(steps.size()), threads, sizeof(Tile)>>>(device_steps.data(), results.data());
  require(cudaGetLastError(), "launching steps");
  auto const bits = results.download();
  std::size_t i = 0;
  for (Fact const& fact : facts()) {
    char text[120];
    std::snprintf(text, sizeof(text), "mma.sync %08x, wgmma %08x, expected %08x", bits[i], bits[i + 1], fact.expected);
    bool const passed = bits[i] == fact.expected && bits[i + 1] == fact.expected;
    std::printf("hardware %s: %s\n", fact.what, text);
    suite.report.record("hardware", passed, fact.what, text);
    i += 2;
  }
}

} // namespace tik::gpu_suite
