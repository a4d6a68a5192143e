// How one head's key or value of one position is stored in the KV cache.
#ifndef STRATA_GENERATE_ENGINE_KV_ROW_H_
#define STRATA_GENERATE_ENGINE_KV_ROW_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

// kInt8: blocks of 32 values (the last may be shorter) with a scale each, rounded as activations
// are (strata/generate/kernels/activation.h).
enum class KvType { kF32, kF16, kInt8 };
// "f32", "f16", "int8"; empty for other names.
std::optional<KvType> ParseKvType(absl::string_view name);

// Bytes of a row of `size` values; a multiple of 4.
int64_t KvRowBytes(KvType type, int size);

// False when a value is NaN or infinite, or too large for the type.
[[nodiscard]] bool EncodeKvRow(KvType type, absl::Span<const float> values, std::byte* row);

void DecodeKvRow(KvType type, const std::byte* row, absl::Span<float> values);

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_KV_ROW_H_
