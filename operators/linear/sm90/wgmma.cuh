// One k16 step of the canonical chain for a warp group, for every width that the strip kernel has: d [64, n] += a [64, 16] x
// b [16, n], both operands in shared memory with k contiguous.
#pragma once

#include <cstdint>

namespace tik::operators::sm90 {

#define TIK_OUT_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TIK_OUT_8(d, i) TIK_OUT_4(d, i), TIK_OUT_4(d, i + 4)
#define TIK_OUT_16(d, i) TIK_OUT_8(d, i), TIK_OUT_8(d, i + 8)
#define TIK_OUT_32(d, i) TIK_OUT_16(d, i), TIK_OUT_16(d, i + 16)
#define TIK_OUT_64(d, i) TIK_OUT_32(d, i), TIK_OUT_32(d, i + 32)
#define TIK_NAMES_4 "%0,%1,%2,%3"
#define TIK_NAMES_8 TIK_NAMES_4 ",%4,%5,%6,%7"
#define TIK_NAMES_12 TIK_NAMES_8 ",%8,%9,%10,%11"
#define TIK_NAMES_16 TIK_NAMES_12 ",%12,%13,%14,%15"
#define TIK_NAMES_24 TIK_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define TIK_NAMES_32 TIK_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define TIK_NAMES_48 TIK_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define TIK_NAMES_64 TIK_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define TIK_NAMES_96                                                                                              \
  TIK_NAMES_64                                                                                                    \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90," \
  "%91,%92,%93,%94,%95"

// The registers are n / 2 and the operands behind them are numbered from there.
#define TIK_WGMMA(n, names, outs, a, b, p)                                                                                   \
  __device__ __forceinline__ void multiply_k16(float(&d)[n / 2], uint64_t x, uint64_t weight, bool accumulate) {             \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                                                     \
                 ", 0;\n"                                                                                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" names "}, %" #a ", %" #b ", p, 1, 1, 0, 0;\n}" \
                 : outs                                                                                                      \
                 : "l"(x), "l"(weight), "r"(static_cast<int>(accumulate)));                                                  \
  }
#define TIK_TWO(first, second) first, second

TIK_WGMMA(8, TIK_NAMES_4, TIK_OUT_4(d, 0), 4, 5, 6)
TIK_WGMMA(16, TIK_NAMES_8, TIK_OUT_8(d, 0), 8, 9, 10)
TIK_WGMMA(24, TIK_NAMES_12, TIK_TWO(TIK_OUT_8(d, 0), TIK_OUT_4(d, 8)), 12, 13, 14)
TIK_WGMMA(32, TIK_NAMES_16, TIK_OUT_16(d, 0), 16, 17, 18)
TIK_WGMMA(48, TIK_NAMES_24, TIK_TWO(TIK_OUT_16(d, 0), TIK_OUT_8(d, 16)), 24, 25, 26)
TIK_WGMMA(64, TIK_NAMES_32, TIK_OUT_32(d, 0), 32, 33, 34)
TIK_WGMMA(96, TIK_NAMES_48, TIK_TWO(TIK_OUT_32(d, 0), TIK_OUT_16(d, 32)), 48, 49, 50)
TIK_WGMMA(128, TIK_NAMES_64, TIK_OUT_64(d, 0), 64, 65, 66)
TIK_WGMMA(192, TIK_NAMES_96, TIK_TWO(TIK_OUT_64(d, 0), TIK_OUT_32(d, 64)), 96, 97, 98)

#undef TIK_TWO
#undef TIK_WGMMA
#undef TIK_NAMES_96
#undef TIK_NAMES_64
#undef TIK_NAMES_48
#undef TIK_NAMES_32
#undef TIK_NAMES_24
#undef TIK_NAMES_16
#undef TIK_NAMES_12
#undef TIK_NAMES_8
#undef TIK_NAMES_4
#undef TIK_OUT_64
#undef TIK_OUT_32
#undef TIK_OUT_16
#undef TIK_OUT_8
#undef TIK_OUT_4

} // namespace tik::operators::sm90
