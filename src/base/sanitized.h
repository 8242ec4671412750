// TIK_SANITIZED is 1 in a program with AddressSanitizer or ThreadSanitizer, whose shadow memory no limit of the address space
// allows.
#pragma once

// GCC says it by a macro, clang by a feature.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TIK_SANITIZED 1
#endif
#endif
#ifndef TIK_SANITIZED
#define TIK_SANITIZED 0
#endif
