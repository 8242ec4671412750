// ln x, the same bits on every backend: x = 2^e * m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh((m - 1) / (m + 1)) by
// its series, in float64. Within half a unit in the last place and a little more.
#pragma once

#include "operators/arithmetic.h"

namespace tik::operators {

TIK_HOST_DEVICE double multiply_add(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

TIK_HOST_DEVICE double divide(double a, double b) {
#ifdef __CUDA_ARCH__
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}

// x is a normal number greater than 0.
TIK_HOST_DEVICE float natural_logarithm(float x) {
  uint32_t const half_root = 0x3f3504f3; // the bits of sqrt(1/2)
  uint32_t const bits = float_to_bits(x);
  int const exponent = static_cast<int>(bits - half_root) >> 23;
  double const m = bits_to_float(bits - (static_cast<uint32_t>(exponent) << 23)); // m - 1 and m + 1 are exact
  double const s = divide(m - 1.0, m + 1.0);
  double const square = multiply_add(s, s, 0.0);
  double series = 1.0 / 15; // up to s^14 / 15: the next term is below 2^-45 of the sum
  series = multiply_add(series, square, 1.0 / 13);
  series = multiply_add(series, square, 1.0 / 11);
  series = multiply_add(series, square, 1.0 / 9);
  series = multiply_add(series, square, 1.0 / 7);
  series = multiply_add(series, square, 1.0 / 5);
  series = multiply_add(series, square, 1.0 / 3);
  series = multiply_add(series, square, 1.0);
  double const twice = multiply_add(s, 2.0, 0.0);
  double const ln_2 = 0.693147180559945309417;
  return static_cast<float>(multiply_add(twice, series, multiply_add(static_cast<double>(exponent), ln_2, 0.0)));
}

} // namespace tik::operators
