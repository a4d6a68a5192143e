// How keys and values are stored in a KV cache.
#ifndef STRATA_GENERATE_ENGINE_KV_TYPE_H_
#define STRATA_GENERATE_ENGINE_KV_TYPE_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace strata {

// kInt8: blocks of 32 values (the last may be shorter) with a scale each, rounded as activations
// are (strata/generate/kernels/activation.h).
enum class KvType { kF32, kF16, kInt8 };
// "f32", "f16", "int8"; empty for other names.
std::optional<KvType> ParseKvType(absl::string_view name);
absl::string_view NameOf(KvType type);

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_KV_TYPE_H_
