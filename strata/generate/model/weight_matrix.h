// A matrix of weights where it lies, in blocks of some type.
#ifndef STRATA_GENERATE_MODEL_WEIGHT_MATRIX_H_
#define STRATA_GENERATE_MODEL_WEIGHT_MATRIX_H_

#include <cstddef>
#include <cstdint>

#include "strata/core/block_type.h"

namespace strata {

// Borrowed: rows of whole blocks one after the other. One expert of a merged tensor is such a
// matrix.
struct WeightMatrix {
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  const std::byte* data = nullptr;

  int64_t row_bytes() const {
    const BlockTypeInfo& info = InfoOf(type);
    return columns / info.block_weights * info.block_bytes;
  }
  const std::byte* row(int64_t index) const { return data + index * row_bytes(); }
};

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_WEIGHT_MATRIX_H_
