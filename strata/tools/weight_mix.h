// Which block types a model's weights are stored in, by what they are for.
#ifndef STRATA_TOOLS_WEIGHT_MIX_H_
#define STRATA_TOOLS_WEIGHT_MIX_H_

#include <array>
#include <cstdint>
#include <map>

#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

// In the order in which they are shown.
enum class WeightRole {
  kExpertGate,
  kExpertUp,
  kExpertGateUp,
  kExpertDown,
  kSharedExpert,
  kRouter,
  kDenseFfn,
  kMixer,  // Attention, and what stands in its place.
  kEmbedding,
  kTable,  // Of n-grams, or of embeddings for each layer: rows that are looked up.
  kOutput,
  kNextN,
  kOther,  // Norms, biases, scales and the like.
};
inline constexpr int kNumWeightRoles = 13;
absl::string_view NameOf(WeightRole role);

class WeightMix {
 public:
  // Tensors of the blocks from `trunk_layers` on are kNextN.
  static WeightMix Of(const GgufFile& file, int64_t trunk_layers);

  // Bytes by type.
  const std::map<BlockType, int64_t>& BytesOf(WeightRole role) const {
    return bytes_[static_cast<size_t>(role)];
  }

 private:
  std::array<std::map<BlockType, int64_t>, kNumWeightRoles> bytes_;
};

}  // namespace strata

#endif  // STRATA_TOOLS_WEIGHT_MIX_H_
