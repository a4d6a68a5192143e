#include "strata/cache/experts/expert_geometry.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

ExpertGeometry::ExpertGeometry(const ExpertLayout& layout)
    : num_experts_(layout.num_experts()), num_used_(layout.num_used()) {
  for (const int block : layout.layers()) {
    layers_.push_back({.block = block,
                       .blob_bytes = layout.BlobBytes(block),
                       .expert_bytes = layout.ExpertBytes(block)});
  }
}

ExpertGeometry::ExpertGeometry(std::vector<Layer> layers, int num_experts, int num_used)
    : layers_(std::move(layers)), num_experts_(num_experts), num_used_(num_used) {
  CHECK(std::is_sorted(layers_.begin(), layers_.end(),
                       [](const Layer& a, const Layer& b) { return a.block < b.block; }));
}

int64_t ExpertGeometry::total_blob_bytes() const {
  int64_t bytes = 0;
  for (const Layer& layer : layers_) bytes += layer.blob_bytes * num_experts_;
  return bytes;
}

bool ExpertGeometry::Has(ExpertId id) const {
  return 0 <= id.index && id.index < num_experts_ && FindLayer(id.layer) >= 0;
}

int ExpertGeometry::FindLayer(int block) const {
  const auto found =
      std::lower_bound(layers_.begin(), layers_.end(), block,
                       [](const Layer& layer, int wanted) { return layer.block < wanted; });
  if (found == layers_.end() || found->block != block) return -1;
  return static_cast<int>(found - layers_.begin());
}

int ExpertGeometry::LayerIndex(int block) const {
  const int index = FindLayer(block);
  CHECK_GE(index, 0) << "block " << block << " has no experts";
  return index;
}

std::string ExpertGeometry::Describe() const {
  if (layers_.empty()) return "no experts";
  return absl::StrCat(layers_.size(), " layers (", layers_.front().block, " to ",
                      layers_.back().block, ") of ", num_experts_, " experts, ", num_used_,
                      " used");
}

}  // namespace strata
