// e^x for the operators on single tokens, the same bits on every backend: 2^n * p(r) with x = n ln 2 + r and |r| <= ln(2) / 2,
// where p is a polynomial of degree 6. Within 1.2e-7 relative.
#pragma once

#include "operators/arithmetic.h"

namespace tik::operators {

inline constexpr float largest_exponent = 87.0f; // e^x and e^-x are normal numbers up to here

// |x| <= largest_exponent.
TIK_HOST_DEVICE float exponential(float x) {
  float const shift = 0x1.8p23f; // adding it rounds to an integer, which is then in the low bits
  float const shifted = multiply_add(x, 0x1.715476p+0f, shift);
  float const n = subtract(shifted, shift);
  float r = multiply_add(n, -0x1.62e4p-1f, x); // exact: the upper part of ln 2 has 16 bits
  r = multiply_add(n, -0x1.7f7d1cp-20f, r);
  float p = 0x1.6d110ap-10f; // interpolates (e^r - 1 - r) / r^2 at Chebyshev points
  p = multiply_add(p, r, 0x1.120b6ep-7f);
  p = multiply_add(p, r, 0x1.55551ap-5f);
  p = multiply_add(p, r, 0x1.5554dcp-3f);
  p = multiply_add(p, r, 0.5f);
  p = multiply_add(p, r, 1.0f);
  p = multiply_add(p, r, 1.0f);
  return bits_to_float(float_to_bits(p) + (float_to_bits(shifted) << 23));
}

} // namespace tik::operators
