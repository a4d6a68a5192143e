// Memory that begins on a cache line.
#ifndef STRATA_GENERATE_KERNELS_ALIGNED_MEMORY_H_
#define STRATA_GENERATE_KERNELS_ALIGNED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace strata {

inline constexpr int64_t kCacheLineBytes = 64;

struct FreeAligned {
  void operator()(void* memory) const {
    ::operator delete[](memory, std::align_val_t(kCacheLineBytes));
  }
};

template <typename T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;

// `count` values, undefined until they are written.
template <typename T>
AlignedArray<T> AllocateAligned(int64_t count) {
  static_assert(std::is_trivial_v<T>);
  return AlignedArray<T>(static_cast<T*>(
      ::operator new[](static_cast<size_t>(count) * sizeof(T), std::align_val_t(kCacheLineBytes))));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ALIGNED_MEMORY_H_
