// What the slots of a cache must hold: the slices of a model's files, read apart from the path that
// fills the slots, and the checksums of a pack if there is one.
//
// Thread-safe. What it is made of outlives it.
#ifndef STRATA_CACHE_PACK_SLOT_REFERENCE_H_
#define STRATA_CACHE_PACK_SLOT_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class SlotReference {
 public:
  struct Difference {
    std::optional<int64_t> offset;  // In the slice, of the first wrong byte, if it is known.
    std::string problem;
  };

  // `model` are the slices in the model's own files. `pack` may be null; it is of that model.
  SlotReference(const ExpertFiles& model, const ExpertGeometry& geometry, const PackManifest* pack)
      : model_(model), geometry_(geometry), pack_(pack) {}

  // Empty when `found` is the expert's slice. An error is the file's: nothing is known then.
  absl::StatusOr<std::optional<Difference>> Compare(ExpertId id, size_t part,
                                                    absl::Span<const std::byte> found) const;

 private:
  absl::StatusOr<std::optional<Difference>> CompareWithFile(
      ExpertId id, size_t part, absl::Span<const std::byte> found) const;

  const ExpertFiles& model_;
  const ExpertGeometry& geometry_;
  const PackManifest* const pack_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_SLOT_REFERENCE_H_
