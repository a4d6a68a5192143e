#include "strata/generate/cpu/expert_weights.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

MappedExperts::MappedExperts(const GgufFile& file, const ExpertLayout& layout) {
  if (layout.empty()) return;
  parts_.resize(static_cast<size_t>(layout.layers().back()) + 1);
  const ExpertFiles files(file, layout);
  for (const ExpertId id : files.ids()) {
    BlobParts& parts = parts_[static_cast<size_t>(id.layer)].emplace_back();
    size_t part = 0;
    for (const ExpertSlice& slice : files.Slices(id)) parts[part++] = files.Mapped(slice).data();
  }
}

absl::Status MappedExperts::ForEachPart(int layer, absl::Span<const int> chosen, Use use) {
  locations_.clear();
  for (const int expert : chosen) {
    locations_.push_back(
        {.expert = expert,
         .parts = parts_[static_cast<size_t>(layer)][static_cast<size_t>(expert)]});
  }
  return use(locations_);
}

}  // namespace strata
