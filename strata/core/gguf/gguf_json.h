// A GGUF file's facts as JSON: what gguf_inspect prints with --json and what tests compare.
//
// Spellings: a string that is not UTF-8 is {"bytes_hex": "..."}; NaN and infinities are the strings
// "nan", "inf", "-inf"; an array is {"of": type, "count": n, "items": [...]}.
#ifndef STRATA_CORE_GGUF_GGUF_JSON_H_
#define STRATA_CORE_GGUF_GGUF_JSON_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "nlohmann/json.hpp"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

struct GgufJsonOptions {
  // Of an array, only so many items are listed; its count stays true.
  int64_t max_items = std::numeric_limits<int64_t>::max();
  // Gives a tensor's field "sha256"; called once for each tensor. Empty: no such field.
  std::function<std::string(const GgufTensor&)> sha256 = nullptr;
};

nlohmann::ordered_json ValueJson(GgufValue value, const GgufJsonOptions& options);

// Version, byte order, alignment, counts, keys and tensors; for a split model the tensors of all
// shards, and each shard's facts under "shards".
nlohmann::ordered_json FileJson(const GgufFile& file, const GgufJsonOptions& options);

// Layers, counts, layout, roles with the bytes of one expert, and "blob_bytes" {min, max, total};
// null for a dense model.
nlohmann::ordered_json MoeJson(const ExpertLayout& layout);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_JSON_H_
