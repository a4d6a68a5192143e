// Where each routed expert's bytes lie in a GGUF model: per layer and role the tensor, its type,
// the bytes of one expert and where the first begins.
//
// Three forms exist in files: merged (`ffn_gate_exps`, experts in the third dimension), fused
// (`ffn_gate_up_exps`, gate's rows first) and separate (one tensor per expert, `ffn_gate.K`).
// ClassifyTensor (tensor_place.h) alone decides what is an expert tensor. Shared experts (`_shexp`)
// are not routed experts; those of NextN blocks are told apart from the trunk's. A dense model has an
// empty layout.
//
// Thread-compatible; independent of the GgufFile once made. Sizes are in bytes.
#ifndef STRATA_CORE_GGUF_EXPERT_LAYOUT_H_
#define STRATA_CORE_GGUF_EXPERT_LAYOUT_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {

struct ExpertId {
  int layer = 0;  // Block number in the file.
  int index = 0;  // 0 .. num_experts() - 1.
  friend bool operator==(const ExpertId&, const ExpertId&) = default;
  friend auto operator<=>(const ExpertId&, const ExpertId&) = default;
};

// One expert's contiguous run of blocks for one role.
struct ExpertSlice {
  ExpertRole role = ExpertRole::kGate;
  BlockType type = BlockType::kF32;
  int shard = 0;
  int64_t file_offset = 0;  // In that shard's file.
  int64_t bytes = 0;
  int64_t row_length = 0;  // Weights of a row.
  int64_t num_rows = 0;
};

// The slices of one expert in the order of its blob. A plain value.
class ExpertSlices {
 public:
  const ExpertSlice* begin() const { return slices_.data(); }
  const ExpertSlice* end() const { return slices_.data() + size_; }
  size_t size() const { return size_; }
  const ExpertSlice& operator[](size_t i) const { return slices_[i]; }
  void push_back(const ExpertSlice& slice) { slices_.at(size_++) = slice; }
  BlobLayout layout() const {
    BlobLayout layout;
    for (const ExpertSlice& slice : *this) layout.Add(slice.bytes);
    return layout;
  }

 private:
  std::array<ExpertSlice, 3> slices_;
  size_t size_ = 0;
};

// One role of one layer, the same for all its experts.
struct ExpertMatrix {
  // What one expert's slice has in common with the others'; its place is expert 0's.
  ExpertSlice first;
  // Empty when expert K begins K * bytes after expert 0; else each expert's place.
  struct Place {
    int shard = 0;
    int64_t file_offset = 0;
  };
  std::vector<Place> places;
};

enum class ExpertForm { kNone, kMerged, kFused, kSeparate, kMixed };
// "none", "merged", "fused", "separate", "mixed".
absl::string_view NameOf(ExpertForm form);

class ExpertLayout {
 public:
  // Model errors: moe_counts, tensor_missing, tensor_ambiguous, tensor_shape, tensor_name and
  // moe_types.
  static absl::StatusOr<ExpertLayout> Create(const GgufFile& file, const ModelConfig& config);

  // MoE layers of the trunk, ascending; dense layers are absent.
  absl::Span<const int> layers() const {
    return absl::MakeConstSpan(layers_).first(num_trunk_layers_);
  }
  // Those of next-token prediction blocks, which come after the trunk. They are no part of what the
  // trunk routes to, nor of profiles and caches made for it.
  absl::Span<const int> nextn_layers() const {
    return absl::MakeConstSpan(layers_).subspan(num_trunk_layers_);
  }
  // Of either kind.
  bool HasExperts(int layer) const;
  bool empty() const { return num_trunk_layers_ == 0; }
  int num_experts() const { return num_experts_; }
  int num_used() const { return num_used_; }
  // Of all layers together.
  ExpertForm form() const { return form_; }
  // Next-token prediction blocks that are in the file.
  int num_nextn_blocks() const { return num_nextn_blocks_; }

  // Gate, up, down, or gate_up, down when fused; up and down where experts have no gate. These and
  // the following take layers of either kind.
  absl::Span<const ExpertMatrix> Matrices(int layer) const;
  ExpertSlices Slices(ExpertId id) const;
  // Bytes of an expert's blob: see BlobLayout.
  int64_t BlobBytes(int layer) const;
  // Bytes of an expert's slices in the file.
  int64_t ExpertBytes(int layer) const;

 private:
  friend class ExpertLayoutBuilder;
  size_t PositionOf(int layer) const;

  int num_experts_ = 0;
  int num_used_ = 0;
  int num_nextn_blocks_ = 0;
  ExpertForm form_ = ExpertForm::kNone;
  size_t num_trunk_layers_ = 0;
  std::vector<int> layers_;                          // The trunk's, then those after it.
  std::vector<std::vector<ExpertMatrix>> matrices_;  // As layers_.
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_EXPERT_LAYOUT_H_
