#include "strata/generate/engine/kv_type.h"

#include <optional>

#include "absl/strings/string_view.h"
#include "glog/logging.h"

namespace strata {

absl::string_view NameOf(KvType type) {
  switch (type) {
    case KvType::kF32:
      return "f32";
    case KvType::kF16:
      return "f16";
    case KvType::kInt8:
      return "int8";
  }
  LOG(FATAL) << "no such KV type: " << static_cast<int>(type);
}

std::optional<KvType> ParseKvType(absl::string_view name) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kInt8}) {
    if (name == NameOf(type)) return type;
  }
  return std::nullopt;
}

}  // namespace strata
