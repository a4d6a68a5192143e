// Which model a profile or a trace belongs to, by content: the shape of its experts, a hash of the
// routers (names, types, dims and bytes, with their biases) and one of the expert tensors' layout
// (names, types, dims). Where the bytes lie does not count: a model that was renamed or split anew
// is the same model.
//
// Plain values.
#ifndef STRATA_CACHE_EXPERTS_MODEL_IDENTITY_H_
#define STRATA_CACHE_EXPERTS_MODEL_IDENTITY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/core/checksum.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/little_endian.h"

namespace strata {

struct ModelIdentity {
  // Reads the routers. Kinds: no_experts for a dense model, bad_geometry for one of absurd numbers,
  // changed.
  static absl::StatusOr<ModelIdentity> Of(const GgufFile& file, const ExpertLayout& layout);

  // Kind profile_mismatch, naming what differs, when this is not `model`; without a file.
  absl::Status CheckIs(const ModelIdentity& model) const;

  // The form that it has in files (docs/formats.md).
  void AppendTo(LittleEndianWriter& writer) const;
  // Kinds: truncated; bad_geometry for numbers that cannot be; without a file.
  static absl::StatusOr<ModelIdentity> Read(LittleEndianReader& reader);

  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;

  ExpertGeometry geometry;
  Checksum routers;
  Checksum experts;
};

}  // namespace strata

#endif  // STRATA_CACHE_EXPERTS_MODEL_IDENTITY_H_
