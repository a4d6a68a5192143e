#include "strata/core/gguf/expert_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout_builder.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"

namespace strata {

absl::string_view NameOf(ExpertForm form) {
  switch (form) {
    case ExpertForm::kNone:
      return "none";
    case ExpertForm::kMerged:
      return "merged";
    case ExpertForm::kFused:
      return "fused";
    case ExpertForm::kSeparate:
      return "separate";
    case ExpertForm::kMixed:
      return "mixed";
  }
  return "";
}

absl::StatusOr<ExpertLayout> ExpertLayout::Create(const GgufFile& file, const ModelConfig& config) {
  return ExpertLayoutBuilder(file, config).Build();
}

bool ExpertLayout::HasExperts(int layer) const {
  return std::binary_search(layers_.begin(), layers_.end(), layer);
}

size_t ExpertLayout::PositionOf(int layer) const {
  const auto found = std::lower_bound(layers_.begin(), layers_.end(), layer);
  CHECK(found != layers_.end() && *found == layer) << "layer " << layer << " has no experts";
  return static_cast<size_t>(found - layers_.begin());
}

absl::Span<const ExpertMatrix> ExpertLayout::Matrices(int layer) const {
  return matrices_[PositionOf(layer)];
}

ExpertSlices ExpertLayout::Slices(ExpertId id) const {
  CHECK(id.index >= 0 && id.index < num_experts_) << "there is no expert " << id.index;
  ExpertSlices slices;
  for (const ExpertMatrix& matrix : Matrices(id.layer)) {
    ExpertSlice slice = matrix.first;
    if (matrix.places.empty()) {
      slice.file_offset += id.index * slice.bytes;
    } else {
      const ExpertMatrix::Place& place = matrix.places[static_cast<size_t>(id.index)];
      slice.shard = place.shard;
      slice.file_offset = place.file_offset;
    }
    slices.push_back(slice);
  }
  return slices;
}

int64_t ExpertLayout::BlobBytes(int layer) const {
  BlobLayout layout_of_blob;
  for (const ExpertMatrix& matrix : Matrices(layer)) layout_of_blob.Add(matrix.first.bytes);
  return layout_of_blob.bytes();
}

int64_t ExpertLayout::ExpertBytes(int layer) const {
  int64_t bytes = 0;
  for (const ExpertMatrix& matrix : Matrices(layer)) bytes += matrix.first.bytes;
  return bytes;
}

}  // namespace strata
