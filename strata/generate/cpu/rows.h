// Vectors of one width, one after the other: a token's or an entry's values each. Each begins on a
// cache line, so that threads which write to different rows, or to different lines of one, do not
// disturb each other.
#ifndef STRATA_GENERATE_CPU_ROWS_H_
#define STRATA_GENERATE_CPU_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/kernels/aligned_memory.h"

namespace strata {

class Rows {
 public:
  static constexpr int64_t kValuesPerLine = kCacheLineBytes / int64_t{sizeof(float)};

  // Values are undefined afterwards. Memory is kept for later.
  void Resize(int64_t count, int64_t width) {
    count_ = count;
    width_ = width;
    stride_ = StrideOf(width);
    const int64_t needed = count * stride_;
    if (needed <= static_cast<int64_t>(lent_.size())) {
      values_ = lent_.data();
      return;
    }
    if (capacity_ < needed) {
      capacity_ = needed;
      own_ = AllocateAligned<float>(capacity_);
    }
    values_ = own_.get();
  }

  // Rows that fit into `memory`, which begins on a cache line, lie there from the next Resize on.
  // It is not used any more after a call with other memory, or with none.
  void UseMemory(absl::Span<std::byte> memory) {
    lent_ = absl::MakeSpan(reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float));
    Resize(0, width_);
  }

  // Of the memory for so many rows.
  static int64_t BytesFor(int64_t count, int64_t width) {
    return count * StrideOf(width) * int64_t{sizeof(float)};
  }
  // Of the memory that it owns.
  int64_t bytes() const { return capacity_ * int64_t{sizeof(float)}; }

  int64_t count() const { return count_; }
  int64_t width() const { return width_; }
  absl::Span<float> row(int64_t i) {
    return absl::MakeSpan(values_ + i * stride_, static_cast<size_t>(width_));
  }
  absl::Span<const float> row(int64_t i) const {
    return absl::MakeConstSpan(values_ + i * stride_, static_cast<size_t>(width_));
  }

 private:
  static int64_t StrideOf(int64_t width) {
    return (width + kValuesPerLine - 1) / kValuesPerLine * kValuesPerLine;
  }

  int64_t count_ = 0;
  int64_t width_ = 0;
  int64_t stride_ = 0;
  float* values_ = nullptr;  // In own_ or lent_.
  int64_t capacity_ = 0;     // Values of own_.
  AlignedArray<float> own_;
  absl::Span<float> lent_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_ROWS_H_
