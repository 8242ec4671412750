// What fills a sequence: every query, key and value is a pure function of (seed, tensor, token, head, column), so that the same
// sequence can be written again into another batch, layout or chunk.
#pragma once

#include <cstdint>
#include <iterator>

#include "operators/attention/contract.h"
#include "tests/gpu/device.h"

namespace tik::gpu_suite {

enum class Distribution {
  normal,   // standard normals
  large,    // queries and keys 8 times, values 256 times as large: scores of +-100 and more
  dominant, // key 5 outweighs all others by e^60
  equal,    // all keys of a head are the same vector: every score of a row is equal
  binades,  // exponents spread over 20 binades
  sparse,   // half of all elements are zeros of both signs
  tiny,     // values near and below the smallest normal bfloat16
  rising,   // scores that rise with the position, 3 bits in 128 keys, mostly from far below 0: references move within a part
  remote,   // scores about 2^24, so that fp32 keeps no fraction of them: for comparisons of bits alone
};
inline constexpr Distribution all_distributions[] = {Distribution::normal, Distribution::large,   Distribution::dominant,
                                                     Distribution::equal,  Distribution::binades, Distribution::sparse,
                                                     Distribution::tiny,   Distribution::rising,  Distribution::remote};

char const* name(Distribution distribution);

enum class Tensor { query, key, value };

struct Source {
  uint64_t seed;
  Distribution distribution = Distribution::normal;
};

// Where the tokens of one sequence lie in a tensor: token t, head h at base + token_offsets[t] + h * head_stride.
struct Placement {
  tik_bf16* base;
  int64_t const* token_offsets; // device memory, elements
  int64_t head_stride;
  int heads;
  int head_dim;
};

// Writes tokens begin..end-1 of a sequence's tensor.
void write_tokens(Source source, Tensor tensor, Placement placement, int begin, int end);

// Fills a buffer with the byte 0xff: as bfloat16 and as float a NaN whose bits no computation gives.
inline constexpr uint16_t poison_bits = 0xffff;
template <typename T>
void poison(Buffer<T> const& buffer) {
  require(cudaMemset(buffer.data(), 0xff, buffer.bytes()), "poisoning a buffer");
}

// Adds a hash of the bytes to *sum (device memory): tells whether a buffer changed.
void add_checksum(void const* data, std::size_t bytes, uint64_t* sum);

// A mixed 64-bit number: the suite's only source of randomness, on the host and on the device.
__host__ __device__ inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A stream of random numbers.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix(seed)) {}
  uint64_t next() { return mix(state_++); }
  int between(int smallest, int largest) { return smallest + static_cast<int>(next() % (largest - smallest + 1)); }

 private:
  uint64_t state_;
};

inline Distribution any_distribution(Random& random) { return all_distributions[random.next() % std::size(all_distributions)]; }

} // namespace tik::gpu_suite
