// Writes a GGUF model whose experts have a wanted size, so that stagebench runs without a model
// file.
//
// The experts' bytes are random and no two 4 KiB pages of the file are equal; nothing can be
// computed with them.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_SYNTHETIC_MODEL_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_SYNTHETIC_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace strata::stagebench {

struct SyntheticShape {
  int layers = 0;
  int experts = 0;         // Of each layer.
  int64_t blob_bytes = 0;  // Of each expert; three equal slices.
};

// "LAYERSxEXPERTSxBYTES", where BYTES may have a unit: "48x128x1.5MiB". The bytes are rounded up so
// that the three slices are whole rows of f16. A UsageError when it is anything else or too large
// to address.
absl::StatusOr<SyntheticShape> ParseSyntheticShape(absl::string_view text);

int64_t SyntheticModelBytes(const SyntheticShape& shape);

// Progress on stderr.
absl::Status WriteSyntheticModel(const SyntheticShape& shape, const std::string& path);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_SYNTHETIC_MODEL_H_
