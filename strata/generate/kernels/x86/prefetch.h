// Weights asked for before they are needed.
#ifndef STRATA_GENERATE_KERNELS_X86_PREFETCH_H_
#define STRATA_GENERATE_KERNELS_X86_PREFETCH_H_

#include <algorithm>
#include <cstdint>

#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {

// Kernels that take several rows at once jump between them, which the machine's own prefetcher does
// not follow well. But the rows lie one after the other: while a group of them is computed, the
// memory behind it is asked for in order, as far ahead as a read from memory takes.
class GroupPrefetch {
 public:
  // The group starts at `group` and has `group_bytes`.
  STRATA_INLINE GroupPrefetch(const uint8_t* group, int64_t group_bytes)
      : next_(reinterpret_cast<uintptr_t>(group) + std::max(group_bytes, kLeastAhead)) {}

  // Asks for the next bytes, and with kInTwoSteps for those farther behind into the second-level
  // cache. Nothing is read, so they may lie behind the end of the weights.
  template <bool kInTwoSteps = false>
  STRATA_INLINE void Advance(int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 64) {
      if (kInTwoSteps) {
        _mm_prefetch(reinterpret_cast<const char*>(next_ + at + kFarther), _MM_HINT_T1);
      }
      _mm_prefetch(reinterpret_cast<const char*>(next_ + at), _MM_HINT_T0);
    }
    next_ += bytes;
  }

 private:
  static constexpr int64_t kLeastAhead = 4096;
  static constexpr int64_t kFarther = 2048;

  uintptr_t next_;  // An address, not a pointer: see Advance.
};

// The same for kernels that take so many neighbouring rows side by side that each is a stream of
// its own: every row is asked for where it goes on, and at its end where the row begins that takes
// its place in the next group. Reads from memory end in the second-level cache, which has room for
// more of them at a time than the first; from there lines are fetched once more, shortly before
// their use.
template <int kRows>
class RowPrefetch {
 public:
  STRATA_INLINE RowPrefetch(const uint8_t* const (&rows)[kRows], int64_t row_bytes)
      : rows_(rows), row_bytes_(row_bytes) {}

  // Asks for one line of each row, where the rows are read `at` bytes behind their begin.
  STRATA_INLINE void Advance(int64_t at) {
    Ask<_MM_HINT_T1>(at + kFromMemory);
    Ask<_MM_HINT_T0>(at + kFromSecondLevel);
  }

 private:
  static constexpr int64_t kFromMemory = 2048;
  static constexpr int64_t kFromSecondLevel = 512;

  template <_mm_hint kHint>
  STRATA_INLINE void Ask(int64_t ahead) {
    if (ahead >= row_bytes_) ahead += (kRows - 1) * row_bytes_;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      // An address, not a pointer: see GroupPrefetch::Advance.
      _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(rows_[i]) + ahead),
                   kHint);
    }
  }

  const uint8_t* const (&rows_)[kRows];
  const int64_t row_bytes_;
};

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_PREFETCH_H_
