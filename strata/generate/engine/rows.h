// Vectors of one width, one after the other: a token's or an entry's values each.
#ifndef STRATA_GENERATE_ENGINE_ROWS_H_
#define STRATA_GENERATE_ENGINE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace strata {

class Rows {
 public:
  // Values are undefined afterwards. Memory is kept for later.
  void Resize(int64_t count, int64_t width) {
    count_ = count;
    width_ = width;
    if (static_cast<int64_t>(values_.size()) < count * width) values_.resize(count * width);
  }

  int64_t count() const { return count_; }
  int64_t width() const { return width_; }
  absl::Span<float> row(int64_t i) {
    return absl::MakeSpan(values_.data() + i * width_, static_cast<size_t>(width_));
  }
  absl::Span<const float> row(int64_t i) const {
    return absl::MakeConstSpan(values_.data() + i * width_, static_cast<size_t>(width_));
  }

 private:
  int64_t count_ = 0;
  int64_t width_ = 0;
  std::vector<float> values_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_ROWS_H_
