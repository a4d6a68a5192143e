// How one head's key or value of one position is stored in the KV cache.
#ifndef STRATA_GENERATE_CPU_KV_ROW_H_
#define STRATA_GENERATE_CPU_KV_ROW_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/engine/kv_type.h"

namespace strata {

// Bytes of a row of `size` values; a multiple of 4.
int64_t KvRowBytes(KvType type, int size);

// False when a value is NaN or infinite, or too large for the type.
[[nodiscard]] bool EncodeKvRow(KvType type, absl::Span<const float> values, std::byte* row);

void DecodeKvRow(KvType type, const std::byte* row, absl::Span<float> values);

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_KV_ROW_H_
