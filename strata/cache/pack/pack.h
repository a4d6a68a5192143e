// A pack opened for use: whose experts may be read in place of the model's own slices.
//
// Immutable; thread-safe.
#ifndef STRATA_CACHE_PACK_PACK_H_
#define STRATA_CACHE_PACK_PACK_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

// The manifest of the pack in a folder. Kind pack_incomplete, with the command that goes on, where
// there is none but an unfinished build; else those of LoadManifest.
absl::StatusOr<PackManifest> LoadPackManifest(const std::string& folder);

class Pack {
 public:
  // Opens experts.bin. Kind pack_no_experts when it was built without a layout; pack_mismatch when
  // the file is another pack's or of another length; those of LoadPackManifest, io and changed.
  static absl::StatusOr<std::unique_ptr<Pack>> Open(const std::string& folder);

  // The same of a pack that must be of this model: see CheckIsOf.
  static absl::StatusOr<std::unique_ptr<Pack>> OpenFor(const std::string& folder,
                                                       const GgufFile& file,
                                                       const ExpertLayout& layout,
                                                       const ModelIdentity& identity);

  const PackManifest& manifest() const { return manifest_; }
  const FileMapping& experts() const { return *experts_; }

  // Kind pack_mismatch, naming the first difference, when this is not a pack of the model: by its
  // tensors and routers, and by a sample of its bytes, one expert of each layer in both files.
  absl::Status CheckIsOf(const GgufFile& file, const ExpertLayout& layout,
                         const ModelIdentity& identity) const;

  // The experts of such a model as they lie in the pack, which outlives them: each in one run.
  ExpertFiles Experts(const ExpertLayout& layout) const;

 private:
  Pack(std::string folder, PackManifest manifest, std::unique_ptr<FileMapping> experts)
      : folder_(std::move(folder)), manifest_(std::move(manifest)), experts_(std::move(experts)) {}

  const std::string folder_;
  const PackManifest manifest_;
  const std::unique_ptr<FileMapping> experts_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_H_
