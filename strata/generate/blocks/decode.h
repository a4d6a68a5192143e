// Weights of any block type as f32. Exact products are rounded once: each value is the real number
// that the format defines, to nearest even.
#ifndef STRATA_GENERATE_BLOCKS_DECODE_H_
#define STRATA_GENERATE_BLOCKS_DECODE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "strata/core/block_type.h"

namespace strata {

// The first out.size() weights, whole blocks, of a row that starts at `row`. A scale in the file
// that is NaN or infinite gives such values.
void DecodeRow(BlockType type, const std::byte* row, absl::Span<float> out);

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_DECODE_H_
