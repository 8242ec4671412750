// Vectors for the values of calls: up to gigabytes, all of which are written before they are read.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace tik::evaluator {

// Large blocks get large pages where the kernel has them, because touching small ones for the first time takes longer than
// copying into them. resize() leaves new elements unset.
template <class T>
struct TensorAllocator {
  using value_type = T;
  TensorAllocator() = default;
  template <class U>
  explicit TensorAllocator(TensorAllocator<U> const&) {}

  T* allocate(std::size_t count) {
    std::size_t const bytes = count * sizeof(T);
    if (bytes < large_page) return static_cast<T*>(::operator new(bytes));
    std::size_t const rounded = (bytes + large_page - 1) / large_page * large_page;
    void* const block = std::aligned_alloc(large_page, rounded);
    if (block == nullptr) throw std::bad_alloc();
    madvise(block, rounded, MADV_HUGEPAGE); // a kernel without them goes on with small ones
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t count) {
    if (count * sizeof(T) < large_page) return ::operator delete(block);
    std::free(block);
  }
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
  template <class U>
  bool operator==(TensorAllocator<U> const&) const {
    return true;
  }

 private:
  static constexpr std::size_t large_page = std::size_t{2} << 20;
};

template <class T>
using Tensor = std::vector<T, TensorAllocator<T>>;

} // namespace tik::evaluator
