// What every operator's checks of a request are made of: a refusal, its sentence, and checks of ranges, pointers and strides.
// Pure host code, C++20 and the standard library only (a GPU host builds it with nothing but the CUDA toolkit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "operators/abi.h"

namespace tik::operators {

// Why a request is refused: the status to return and the sentence for the operator's last-error function.
struct Refusal {
  tik_status status;
  std::string sentence;
};

// Keeps every stride within a TMA descriptor.
inline constexpr int64_t largest_stride = (int64_t{1} << 39) - 8;
// Of bfloat16 tensors: rows are read 16 bytes at a time.
inline constexpr std::size_t tensor_alignment = 16;

namespace validation {

// A piece of a sentence: words, a number or an address. Without streams, because every audit of a CPU candidate compiles this.
struct Piece {
  Piece(char const* words) : text(words) {}
  Piece(std::string words) : text(std::move(words)) {}
  Piece(int number) : text(std::to_string(number)) {}
  Piece(long number) : text(std::to_string(number)) {}
  Piece(long long number) : text(std::to_string(number)) {}
  Piece(unsigned number) : text(std::to_string(number)) {}
  Piece(unsigned long number) : text(std::to_string(number)) {}
  Piece(float number) : Piece("%g", number) {}
  Piece(double number) : Piece("%g", number) {}
  Piece(void const* address) : Piece("%p", address) {}

  std::string text;

 private:
  template <typename Value>
  Piece(char const* format, Value value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), format, value);
    text = digits;
  }
};

inline std::string join(std::initializer_list<Piece> pieces) {
  std::string text;
  for (auto const& piece : pieces) text += piece.text;
  return text;
}

template <typename... Parts>
std::string sentence(Parts const&... parts) {
  return join({Piece(parts)...});
}

template <typename... Parts>
Refusal invalid(Parts const&... parts) {
  return {TIK_INVALID_ARGUMENT, sentence(parts...)};
}

inline std::optional<Refusal> check_range(char const* name, int64_t value, int64_t smallest, int64_t largest) {
  if (value >= smallest && value <= largest) return std::nullopt;
  return invalid(name, " is ", value, ", but must be between ", smallest, " and ", largest, ".");
}

inline std::optional<Refusal> check_pointer(char const* name, void const* pointer, std::size_t alignment) {
  if (pointer == nullptr) return invalid(name, " is NULL: pass the address of its data.");
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0) {
    return invalid(name, " is ", pointer, ", which is not aligned to ", alignment, " bytes: start the data at a multiple of ",
                   alignment, " bytes.");
  }
  return std::nullopt;
}

inline std::optional<Refusal> check_absent(char const* name, void const* pointer, char const* why) {
  if (pointer == nullptr) return std::nullopt;
  return invalid(name, " is ", pointer, ", but must be NULL: ", why, ".");
}

inline std::optional<Refusal> check_stride(char const* name, int64_t stride, int64_t smallest) {
  if (stride % 8 != 0) return invalid(name, " is ", stride, ", but must be a multiple of 8 elements (16 bytes): pad the rows.");
  if (stride < smallest || stride > largest_stride) {
    return invalid(name, " is ", stride, " elements, but must be between ", smallest, " and ", largest_stride, ".");
  }
  return std::nullopt;
}

// The first refusal of several checks, in the order written.
inline std::optional<Refusal> first_of(std::initializer_list<std::optional<Refusal>> checks) {
  for (auto const& check : checks) {
    if (check) return check;
  }
  return std::nullopt;
}

// Refuses a call without arguments, or one that was compiled against another version of its contract.
template <typename Args>
std::optional<Refusal> check_args(char const* function, char const* type, Args const* args) {
  if (args == nullptr) return invalid("args is NULL: ", function, " takes a ", type, ".");
  if (args->struct_bytes == sizeof(Args)) return std::nullopt;
  return invalid("struct_bytes is ", args->struct_bytes, ", but this library was built for ", sizeof(Args),
                 ": set it to sizeof(", type, ") and compile against the library's own contract.");
}

// `needed` bytes of workspace, 0 or less when none is; `ask` is the function that tells the size.
inline std::optional<Refusal> check_workspace(void const* workspace, std::size_t bytes, int64_t needed, std::size_t alignment,
                                              char const* ask) {
  if (needed <= 0) return std::nullopt;
  if (workspace == nullptr) {
    return Refusal{TIK_WORKSPACE_TOO_SMALL, sentence("workspace is NULL, but this call needs ", needed, " bytes (", ask, ").")};
  }
  if (bytes < static_cast<uint64_t>(needed)) {
    return Refusal{TIK_WORKSPACE_TOO_SMALL,
                   sentence("workspace_bytes is ", bytes, ", but this call needs ", needed, ": ask ", ask, ".")};
  }
  return check_pointer("workspace", workspace, alignment);
}

} // namespace validation
} // namespace tik::operators
