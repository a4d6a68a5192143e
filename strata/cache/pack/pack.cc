#include "strata/cache/pack/pack.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/item_checker.h"
#include "strata/cache/pack/pack_checkpoint.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/pack_plan.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/read_at.h"
#include "strata/core/status_macros.h"

namespace strata {

absl::StatusOr<PackManifest> LoadPackManifest(const std::string& folder) {
  const PackFolder files(folder);
  absl::StatusOr<PackManifest> manifest = LoadManifest(files.manifest());
  if (manifest.ok()) return manifest;
  // Where the manifest is there, it is what is wrong.
  if (FileMapping::Open(files.manifest()).ok()) return manifest;
  const absl::StatusOr<PackCheckpoint> unfinished = PackCheckpoint::Load(files.checkpoint());
  if (!unfinished.ok()) return manifest;
  return InputError("pack_incomplete", folder,
                    absl::StrCat("the pack is incomplete, resume with: ", unfinished->resume));
}

absl::StatusOr<std::unique_ptr<Pack>> Pack::Open(const std::string& folder) {
  ASSIGN_OR_RETURN(PackManifest manifest, LoadPackManifest(folder));
  if (!manifest.layout.has_value()) {
    return InputError("pack_no_experts", folder,
                      "the pack was built without --layout: it has no experts.bin to read from");
  }
  const std::string path = PackFolder(folder).experts();
  ASSIGN_OR_RETURN(std::unique_ptr<FileMapping> experts, FileMapping::Open(path));
  if (experts->size() != manifest.layout->bytes) {
    return InputError("pack_mismatch", path,
                      absl::StrCat("it has ", experts->size(), " bytes; the manifest says ",
                                   manifest.layout->bytes));
  }
  std::vector<std::byte> header(static_cast<size_t>(PackLayout::kHeaderBytes));
  RETURN_IF_ERROR(ReadAt(*experts, 0, absl::MakeSpan(header), "its header"));
  if (const absl::Status status = manifest.layout->CheckHeader(header, manifest.BlobHashes());
      !status.ok()) {
    return WithFile(status, path);
  }
  return absl::WrapUnique(new Pack(folder, std::move(manifest), std::move(experts)));
}

absl::StatusOr<std::unique_ptr<Pack>> Pack::OpenFor(const std::string& folder, const GgufFile& file,
                                                    const ExpertLayout& layout,
                                                    const ModelIdentity& identity) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pack> pack, Open(folder));
  RETURN_IF_ERROR(pack->CheckIsOf(file, layout, identity));
  return pack;
}

absl::Status Pack::CheckIsOf(const GgufFile& file, const ExpertLayout& layout,
                             const ModelIdentity& identity) const {
  const absl::Status of_model = strata::CheckIsOf(manifest_, PlanManifest(file, layout, identity));
  if (!of_model.ok()) return WithFile(of_model, folder_);
  ItemChecker::Files files = {.experts = experts_.get()};
  for (const auto& shard : file.shards()) files.shards.push_back(&shard->mapping());
  const ItemChecker checker(manifest_, std::move(files));
  std::vector<std::byte> buffer(ItemChecker::kBufferBytes);
  for (const std::vector<PackItem>& items : {ModelItems(manifest_), ExpertsItems(manifest_)}) {
    for (const PackItem& item : Sample(manifest_, items)) {
      const std::optional<PackFinding> finding = checker.Check(item, absl::MakeSpan(buffer));
      if (!finding.has_value()) continue;
      return InputError("pack_mismatch", finding->file,
                        absl::StrCat("the model and the pack in ", folder_, " differ: ",
                                     Describe(manifest_, item), ": ", finding->problem));
    }
  }
  RETURN_IF_ERROR(file.CheckUnchanged());
  return experts_->CheckUnchanged();
}

ExpertFiles Pack::Experts(const ExpertLayout& layout) const {
  std::vector<std::pair<ExpertId, ExpertSlices>> experts;
  for (const int block : layout.layers()) {
    for (int index = 0; index < layout.num_experts(); ++index) {
      const ExpertId id = {.layer = block, .index = index};
      const int64_t start = manifest_.layout->offsets[experts.size()];
      const ExpertSlices of_model = layout.Slices(id);
      const BlobLayout blob = of_model.layout();
      ExpertSlices slices;
      for (int part = 0; part < blob.num_parts(); ++part) {
        ExpertSlice slice = of_model[static_cast<size_t>(part)];
        slice.shard = 0;
        slice.file_offset = start + blob.offset(part);
        slices.push_back(slice);
      }
      experts.emplace_back(id, slices);
    }
  }
  return ExpertFiles({experts_.get()}, std::move(experts));
}

}  // namespace strata
