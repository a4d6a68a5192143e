// The shape of a model's experts: which layers have them, how many, how many of them a token uses,
// and how large they are. What a profile, a trace and the cache must agree on.
//
// Experts also have a number, 0 .. size() - 1, layer by layer: an index for arrays with a value per
// expert. Plain values; sizes are in bytes.
#ifndef STRATA_CACHE_EXPERTS_EXPERT_GEOMETRY_H_
#define STRATA_CACHE_EXPERTS_EXPERT_GEOMETRY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "strata/core/gguf/expert_layout.h"

namespace strata {

class ExpertGeometry {
 public:
  struct Layer {
    int block = 0;             // ExpertId::layer.
    int64_t blob_bytes = 0;    // Of an expert in memory, each part aligned.
    int64_t expert_bytes = 0;  // Of its slices in the file.
    friend bool operator==(const Layer&, const Layer&) = default;
  };

  ExpertGeometry() = default;
  explicit ExpertGeometry(const ExpertLayout& layout);
  // Layers ascend by block. `num_used` experts of the `num_experts` of a layer serve a token.
  ExpertGeometry(std::vector<Layer> layers, int num_experts, int num_used);

  const std::vector<Layer>& layers() const { return layers_; }
  int num_experts() const { return num_experts_; }
  int num_used() const { return num_used_; }
  // Experts of all layers.
  int size() const { return static_cast<int>(layers_.size()) * num_experts_; }
  int64_t total_blob_bytes() const;

  // Whether there is such an expert.
  bool Has(ExpertId id) const;
  // Of experts that there are.
  int NumberOf(ExpertId id) const { return LayerIndex(id.layer) * num_experts_ + id.index; }
  ExpertId IdOf(int number) const {
    return {.layer = LayerOf(number).block, .index = number % num_experts_};
  }
  const Layer& LayerOf(int number) const { return layers_[number / num_experts_]; }
  int64_t BlobBytes(int number) const { return LayerOf(number).blob_bytes; }
  // The index of a block in layers(); -1 when it has no experts.
  int FindLayer(int block) const;

  // "48 layers (0 to 47) of 128 experts, 8 used".
  std::string Describe() const;

  friend bool operator==(const ExpertGeometry&, const ExpertGeometry&) = default;

 private:
  int LayerIndex(int block) const;  // Of a block that has experts.

  std::vector<Layer> layers_;
  int num_experts_ = 0;
  int num_used_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_EXPERTS_EXPERT_GEOMETRY_H_
