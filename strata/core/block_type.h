// The block types of GGUF tensors: how many weights a block holds and how many bytes it takes.
//
// Ids, names and sizes are facts of the file format (ggml, see NOTICE). A row is a whole number of
// blocks; blocks of a row, rows, and experts of a merged tensor are contiguous.
#ifndef STRATA_CORE_BLOCK_TYPE_H_
#define STRATA_CORE_BLOCK_TYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

// Values are the ids in the file. Ids 4, 5, 31 to 33 and 36 to 38 are withdrawn.
enum class BlockType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
};

struct BlockTypeInfo {
  BlockType type;
  absl::string_view name;  // As others print it: "Q4_K", "MXFP4".
  int block_weights;       // Weights in a block; 1 for plain numbers.
  int block_bytes;         // Bytes of a block.
};

// All types, ascending by id.
absl::Span<const BlockTypeInfo> AllBlockTypes();

// Null when `id` is unknown or withdrawn.
const BlockTypeInfo* FindBlockType(uint32_t id);

const BlockTypeInfo& InfoOf(BlockType type);

}  // namespace strata

#endif  // STRATA_CORE_BLOCK_TYPE_H_
