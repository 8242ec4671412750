// The facts about tensor-core arithmetic that numerics.cuh rests on, measured on the chip at hand (docs/numerics.md). The first
// is what lets two kernels differ in everything but the chain: the bits of an element depend only on its operands, on which 16
// of them form a step, and on the order of the steps. hardware_steps.cu has the facts about a single step.
#include <cuda_bf16.h>

#include "tests/gpu/hardware_tile.h"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

using namespace hardware;

enum class Fill { uniform, binades, tiny, weights, masked };
constexpr char const* fill_names[] = {"uniform", "exponents over 20 binades", "products near subnormal", "weights in [0, 1]",
                                      "weights with zeros at the end"};

enum Form {
  wgmma_n8,
  wgmma_n16,
  wgmma_n64,
  wgmma_n128,
  wgmma_n256,
  registers_n8,
  registers_n64,
  registers_n128,
  registers_n256,
  transposed_b,
  rows_moved,
  swapped_wgmma,
  swapped_mma,
  zero_groups_left_out,
  others_under_zero_mma,
  others_under_zero_wgmma,
  forms
};
constexpr char const* form_names[] = {"wgmma m64n8k16",
                                      "wgmma m64n16k16",
                                      "wgmma m64n64k16",
                                      "wgmma m64n128k16",
                                      "wgmma m64n256k16",
                                      "wgmma m64n8k16, A in registers",
                                      "wgmma m64n64k16, A in registers",
                                      "wgmma m64n128k16, A in registers",
                                      "wgmma m64n256k16, A in registers",
                                      "wgmma m64n64k16, B with n contiguous",
                                      "rows at other positions of the tile",
                                      "wgmma m64n64k16, operands swapped",
                                      "mma.sync m16n8k16, operands swapped",
                                      "groups of zero weights left out",
                                      "other finite values under zero weights, mma.sync",
                                      "other finite values under zero weights, wgmma"};

struct Problem {
  uint64_t seed;
  Fill fill;
  int steps;
  int seen;       // k from which the weights are +0; fill masked only
  bool from_zero; // scale-d 0 (wgmma) or +0 (mma.sync); otherwise start() gives the accumulator
};

__device__ uint16_t bits_of(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }

__device__ float signed_uniform(uint64_t random) { return static_cast<int32_t>(random >> 32) * 0x1p-29f; } // in (-4, 4)

__device__ uint16_t operand(Problem const& p, bool is_a, int row, int k) {
  uint64_t const random = mix(p.seed ^ mix(static_cast<uint64_t>(row) << 9 | k << 1 | is_a));
  float const x = signed_uniform(random);
  switch (p.fill) {
    case Fill::uniform:
      return bits_of(x);
    case Fill::binades:
      return bits_of(ldexpf(x, static_cast<int>(random % 21) - 10));
    case Fill::tiny:
      return bits_of(ldexpf(x, -66 - static_cast<int>(random % 8)));
    case Fill::weights:
      return bits_of(is_a ? fabsf(x) / 4 : x);
    case Fill::masked:
      return k >= p.seen ? 0 : bits_of(is_a ? fabsf(x) / 4 : x);
  }
  return 0;
}

// Any finite bfloat16: all exponents, both signs.
__device__ uint16_t any_finite(Problem const& p, int row, int k) {
  uint16_t const bits = mix(p.seed ^ mix(static_cast<uint64_t>(row) << 9 | k << 1) ^ 0x9d39247e33776d41ull);
  return (bits & 0x7f80) == 0x7f80 ? bits ^ 0x4000 : bits;
}

// The accumulator before the first step: finite, of many magnitudes, zeros of both signs and subnormals among them.
__device__ float start(Problem const& p, int row, int column) {
  if (p.from_zero) return 0;
  uint64_t const random = mix(p.seed ^ mix(static_cast<uint64_t>(row) << 8 | column) ^ 0x7f4a7c159e3779b9ull);
  float const x = signed_uniform(random);
  if (p.fill == Fill::masked) return x;
  switch (random % 16) {
    case 0:
      return 0.0f;
    case 1:
      return -0.0f;
    case 2:
      return ldexpf(x, -130);
    default:
      return ldexpf(x, static_cast<int>(random / 16 % 41) - 20);
  }
}

// Calls visit(i, row, column) for the accumulators of one lane of a wgmma tile: registers `i` of rows x columns from (0, 0).
template <int registers, typename Visit>
__device__ void for_each(Visit visit) {
  int const lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < registers; ++i)
    visit(i, threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2);
}

struct Differences {
  Tile const& tile;
  unsigned long long* counts;
  int local = 0;
  __device__ void add(int row, int column, float value) {
    local += tile.expected[row * columns + column] != __float_as_uint(value);
  }
  __device__ void store(Form form) {
    if (local > 0) atomicAdd(&counts[form], local);
    local = 0;
  }
};

// All columns by wgmma of width n.
template <int n, bool a_in_registers = false, bool b_is_transposed = false>
__device__ void check_wgmma(Tile const& tile, Problem const& p, int steps, Form form, Differences& differences) {
  for (int first = 0; first < columns; first += n) {
    using Instruction = Wgmma<n, b_is_transposed>;
    float d[Instruction::registers];
    for_each<Instruction::registers>([&](int i, int row, int column) { d[i] = start(p, row, first + column); });
    for (int step = 0; step < steps; ++step) {
      auto const* const b = (b_is_transposed ? tile.b_transposed : tile.b) + element(first, 16 * step);
      uint64_t const b_descriptor = tile_descriptor(b, core_bytes, along_rows);
      int const accumulate = step > 0 || !p.from_zero;
      wgmma_fence();
      if constexpr (a_in_registers) {
        uint32_t a[4];
        load_a(a, tile.a, threadIdx.x / 32 * 16, 16 * step, threadIdx.x % 32);
        Instruction::run(d, a, b_descriptor, accumulate);
        wgmma_wait();
      } else {
        Instruction::run(d, tile_descriptor(tile.a + element(0, 16 * step), core_bytes, along_rows), b_descriptor, accumulate);
        wgmma_wait();
      }
    }
    for_each<Instruction::registers>([&](int i, int row, int column) { differences.add(row, first + column, d[i]); });
  }
  differences.store(form);
}

// Rows of A start 8 rows further, around the end: the descriptors of both halves walk the core matrices in another order.
__device__ void check_rows_moved(Tile& tile, Problem const& p, Differences& differences) {
  __syncthreads();
  constexpr int block = rows * depth / 8;                  // 8 rows
  for (int i = threadIdx.x; i < block / 2; i += threads) { // exchange row group 0 with 7, 1 with 6, ..., and rows r with 7 - r
    for (int group = 0; group < 4; ++group) {
      int const core = i / 32, within = i % 32, r = within / 8, k = within % 8;
      int const low = group * (depth / 8) * 64 + core * 64;
      int const high = (7 - group) * (depth / 8) * 64 + core * 64;
      for (int half = 0; half < 2; ++half) {
        int const row = half == 0 ? r : 7 - r;
        uint16_t const kept = tile.a[low + row * 8 + k];
        tile.a[low + row * 8 + k] = tile.a[high + (7 - row) * 8 + k];
        tile.a[high + (7 - row) * 8 + k] = kept;
      }
    }
  }
  publish();
  __syncthreads();
  for (int first = 0; first < columns; first += 64) {
    float d[32];
    for_each<32>([&](int i, int row, int column) { d[i] = start(p, rows - 1 - row, first + column); });
    for (int step = 0; step < p.steps; ++step) {
      wgmma_fence();
      Wgmma<64>::run(d, tile_descriptor(tile.a + element(0, 16 * step), core_bytes, along_rows),
                     tile_descriptor(tile.b + element(first, 16 * step), core_bytes, along_rows), step > 0 || !p.from_zero);
      wgmma_wait();
    }
    for_each<32>([&](int i, int row, int column) { differences.add(rows - 1 - row, first + column, d[i]); });
  }
  differences.store(rows_moved);
}

__device__ void check_swapped(Tile const& tile, Problem const& p, Differences& differences) {
  for (int first = 0; first < columns; first += 64) { // 64 columns are the rows of the product, the rows its columns
    float d[32];
    for_each<32>([&](int i, int row, int column) { d[i] = start(p, column, first + row); });
    for (int step = 0; step < p.steps; ++step) {
      wgmma_fence();
      Wgmma<64>::run(d, tile_descriptor(tile.b + element(first, 16 * step), core_bytes, along_rows),
                     tile_descriptor(tile.a + element(0, 16 * step), core_bytes, along_rows), step > 0 || !p.from_zero);
      wgmma_wait();
    }
    for_each<32>([&](int i, int row, int column) { differences.add(column, first + row, d[i]); });
  }
  differences.store(swapped_wgmma);
  int const lane = threadIdx.x % 32;
  for (int m = threadIdx.x / 32 * 16; m < columns; m += 64) {
    for (int n = 0; n < rows; n += 8) {
      auto const row = [&](int i) { return n + lane % 4 * 2 + i % 2; };
      auto const column = [&](int i) { return m + lane / 4 + i / 2 * 8; };
      float d[4];
      for (int i = 0; i < 4; ++i) d[i] = start(p, row(i), column(i));
      mma_chain(d, tile.b, m, tile.a, n, p.steps, lane);
      for (int i = 0; i < 4; ++i) differences.add(row(i), column(i), d[i]);
    }
  }
  differences.store(swapped_mma);
}

// Visits all columns by mma.sync; each warp has 16 rows.
template <typename Visit>
__device__ void for_each_mma(Tile const& tile, Problem const& p, Visit visit) {
  int const lane = threadIdx.x % 32;
  int const m = threadIdx.x / 32 * 16;
  for (int n = 0; n < columns; n += 8) {
    auto const row = [&](int i) { return m + lane / 4 + i / 2 * 8; };
    auto const column = [&](int i) { return n + lane % 4 * 2 + i % 2; };
    float d[4];
    for (int i = 0; i < 4; ++i) d[i] = start(p, row(i), column(i));
    mma_chain(d, tile.a, m, tile.b, n, p.steps, lane);
    for (int i = 0; i < 4; ++i) visit(row(i), column(i), d[i]);
  }
}

// A block makes one random problem and computes it in every form. counts: elements that differ, of each form.
__global__ void __launch_bounds__(threads, 1) forms_kernel(uint64_t seed, Fill fill, unsigned long long* counts) {
  extern __shared__ __align__(128) unsigned char memory[];
  Tile& tile = *reinterpret_cast<Tile*>(memory);
  Problem p{mix(seed + blockIdx.x), fill};
  p.steps = blockIdx.x % 2 == 0 ? most_steps : 1 + blockIdx.x / 2 % most_steps;
  p.seen = mix(p.seed) % (16 * p.steps);
  p.from_zero = mix(p.seed ^ 1) % 2 == 0;
  for (int i = threadIdx.x; i < rows * depth; i += threads)
    tile.a[element(i / depth, i % depth)] = operand(p, true, i / depth, i % depth);
  for (int i = threadIdx.x; i < columns * depth; i += threads) {
    uint16_t const bits = operand(p, false, i / depth, i % depth);
    tile.b[element(i / depth, i % depth)] = bits;
    tile.b_transposed[transposed_element(i / depth, i % depth)] = bits;
  }
  publish();
  __syncthreads();
  for_each_mma(tile, p,
               [&](int row, int column, float value) { tile.expected[row * columns + column] = __float_as_uint(value); });
  __syncthreads();

  Differences differences{tile, counts};
  check_wgmma<8>(tile, p, p.steps, wgmma_n8, differences);
  check_wgmma<16>(tile, p, p.steps, wgmma_n16, differences);
  check_wgmma<64>(tile, p, p.steps, wgmma_n64, differences);
  check_wgmma<128>(tile, p, p.steps, wgmma_n128, differences);
  check_wgmma<256>(tile, p, p.steps, wgmma_n256, differences);
  check_wgmma<8, true>(tile, p, p.steps, registers_n8, differences);
  check_wgmma<64, true>(tile, p, p.steps, registers_n64, differences);
  check_wgmma<128, true>(tile, p, p.steps, registers_n128, differences);
  check_wgmma<256, true>(tile, p, p.steps, registers_n256, differences);
  check_wgmma<64, false, true>(tile, p, p.steps, transposed_b, differences);
  check_swapped(tile, p, differences);
  if (fill == Fill::masked) {
    check_wgmma<64>(tile, p, (p.seen + 15) / 16, zero_groups_left_out, differences);
    __syncthreads();
    for (int i = threadIdx.x; i < columns * depth; i += threads) {
      if (i % depth >= p.seen) tile.b[element(i / depth, i % depth)] = any_finite(p, i / depth, i % depth);
    }
    publish();
    __syncthreads();
    for_each_mma(tile, p, [&](int row, int column, float value) { differences.add(row, column, value); });
    differences.store(others_under_zero_mma);
    check_wgmma<64>(tile, p, p.steps, others_under_zero_wgmma, differences);
  } else {
    check_rows_moved(tile, p, differences);
  }
}

void check_forms(Suite& suite, Fill fill, int blocks) {
  Buffer<unsigned long long> counts(forms);
  counts.zero();
  require(cudaFuncSetAttribute(forms_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Tile)), "asking for memory");
  forms_kernel<<<blocks, threads, sizeof(Tile)>>>(suite.seed, fill, counts.data());
  require(cudaGetLastError(), "launching tiles");
  auto const differing = counts.download();
  for (int form = 0; form < forms; ++form) {
    bool const only_masked = form >= zero_groups_left_out;
    if (fill == Fill::masked ? form == rows_moved : only_masked) continue;
    std::string const label = std::string(form_names[form]) + " against mma.sync m16n8k16, " +
                              fill_names[static_cast<int>(fill)] + ", " + std::to_string(int64_t{blocks} * tiles_per_block) +
                              " tiles";
    suite.report.record("hardware", differing[form] == 0, label,
                        std::to_string(differing[form]) +
                            " elements differ: the arithmetic of this chip or driver is not the "
                            "one that numerics.cuh rests on");
  }
}

} // namespace

void check_hardware(Suite& suite) {
  check_steps(suite);
  int const blocks = suite.tiny ? 16 : suite.quick ? 2000 : 16000; // 5 x 16,000 x 128 tiles: ten million
  for (Fill const fill : {Fill::uniform, Fill::binades, Fill::tiny, Fill::weights, Fill::masked})
    check_forms(suite, fill, blocks);
}

} // namespace tik::gpu_suite
