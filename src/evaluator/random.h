// Random numbers of the trusted side. The stream begins with the specification's seed and a value drawn for this audit alone,
// so that no candidate can know its inputs beforehand; the report names both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tik::evaluator {

// xoshiro256** (Blackman and Vigna), seeded through splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      word = mixed ^ (mixed >> 31);
    }
  }

  std::uint64_t next() {
    std::uint64_t const result = rotate(state_[1] * 5, 7) * 9;
    std::uint64_t const shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // A whole number in [low, high].
  int between(int low, int high) { return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1)); }
  bool coin() { return (next() >> 63) != 0; }

  // Close to a standard normal number: the sum of four uniform ones.
  float normal() {
    std::uint64_t const bits = next();
    int sum = 0;
    for (int part = 0; part < 4; ++part) sum += static_cast<int>(bits >> (16 * part) & 0xffff);
    return (static_cast<float>(sum) - 131070.0f) * (1.7320508f / 65536.0f);
  }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[next() % i]);
  }

 private:
  static std::uint64_t rotate(std::uint64_t value, int by) { return value << by | value >> (64 - by); }
  std::uint64_t state_[4];
};

} // namespace tik::evaluator
