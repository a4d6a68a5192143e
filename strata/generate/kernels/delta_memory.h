// The memory of a head of a gated delta net, and a token that meets it (delta_rule.h).
#ifndef STRATA_GENERATE_KERNELS_DELTA_MEMORY_H_
#define STRATA_GENERATE_KERNELS_DELTA_MEMORY_H_

#include <cstdint>

namespace strata {

// A matrix of `size` rows, one for each value of a key, and as many columns, one for each value of
// a value. Columns lie in blocks: all rows of a block one after the other, the last block filled up
// with columns that nobody looks at.
struct DeltaMemory {
  static constexpr int kBlockColumns = 32;

  static constexpr int64_t NumBlocks(int64_t size) {
    return (size + kBlockColumns - 1) / kBlockColumns;
  }
  static constexpr int64_t BlockValues(int64_t size) { return size * kBlockColumns; }
  static constexpr int64_t NumValues(int64_t size) { return NumBlocks(size) * BlockValues(size); }
};

// A token as one block of columns sees it. Borrowed.
struct DeltaToken {
  int64_t size = 0;              // Of query and key.
  const float* query = nullptr;  // Scaled already.
  const float* key = nullptr;
  const float* value = nullptr;  // kBlockColumns of them.
  float query_dot_key = 0.0f;
  float decay = 0.0f;
  float beta = 0.0f;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_DELTA_MEMORY_H_
