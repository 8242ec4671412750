// What the CPU backend's functions share.
#pragma once

#include "operators/last_error.h"
#include "operators/rows.h"

namespace tik::operators::cpu {

using Error = LastError<struct CpuBackend>;

inline tik_bf16 const* row(tik_rows const& rows, int64_t token, int64_t head = 0) {
  return rows.data + token * rows.token_stride + (head == 0 ? 0 : head * rows.head_stride);
}
inline tik_bf16* row(tik_mutable_rows const& rows, int64_t token, int64_t head = 0) {
  return rows.data + token * rows.token_stride + (head == 0 ? 0 : head * rows.head_stride);
}

} // namespace tik::operators::cpu
