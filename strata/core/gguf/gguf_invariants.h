// What must hold for any file that GgufFile::Open was given, and for all that was read from it.
// Shared by the mutation test and the fuzz targets.
#ifndef STRATA_CORE_GGUF_GGUF_INVARIANTS_H_
#define STRATA_CORE_GGUF_GGUF_INVARIANTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

// Empty when all is well; else what is not. A refusal must be an input error of a documented kind
// that names a file. Of an accepted file every key, value and tensor is read: tensors lie inside
// their files and overlap nowhere, all names are found again, and experts lie inside tensors.
std::string BrokenInvariant(const absl::StatusOr<std::unique_ptr<GgufFile>>& file);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_INVARIANTS_H_
