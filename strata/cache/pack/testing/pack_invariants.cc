#include "strata/cache/pack/testing/pack_invariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/pack/item_checker.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/pack/pack_checkpoint.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/error.h"

namespace strata {
namespace {

// That a refusal has one of the kinds that are documented for it.
std::string WrongKind(const absl::Status& refusal, const std::set<std::string>& kinds) {
  if (kinds.contains(ErrorKind(refusal))) return "";
  return absl::StrCat("refused with \"", ErrorKind(refusal), "\": ", refusal.message());
}

// That items cover files from their start without a gap; their bytes.
std::string NotCovered(const std::vector<PackItem>& items) {
  int shard = PackItem::kExpertsFile;
  int64_t end = 0;
  for (const PackItem& item : items) {
    if (item.run.shard != shard) {
      shard = item.run.shard;
      end = 0;
    }
    if (item.run.bytes == 0) continue;
    if (item.run.offset != end) return absl::StrCat("an item begins at ", item.run.offset);
    end = item.run.end();
  }
  return "";
}

}  // namespace

std::string BrokenManifest(absl::string_view text) {
  const absl::StatusOr<PackManifest> manifest = ParseManifest(text, "m");
  if (!manifest.ok()) {
    return WrongKind(manifest.status(),
                     {"bad_magic", "bad_version", "bad_checksum", "bad_manifest"});
  }
  for (const std::vector<PackItem>& items : {ModelItems(*manifest), ExpertsItems(*manifest)}) {
    if (std::string broken = NotCovered(items); !broken.empty()) return broken;
    for (const PackItem& item : items) {
      if (Describe(*manifest, item).empty()) return "an item without a description";
    }
  }
  const std::string again = ManifestText(*manifest);
  const absl::StatusOr<PackManifest> reread = ParseManifest(again, "m");
  if (!reread.ok()) return absl::StrCat("its own text is refused: ", reread.status().message());
  return ManifestText(*reread) == again ? "" : "its text changes when it is read again";
}

std::string BrokenCheckpoint(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<PackCheckpoint> checkpoint = PackCheckpoint::Parse(bytes, "c");
  if (!checkpoint.ok()) {
    return WrongKind(checkpoint.status(),
                     {"bad_magic", "bad_version", "bad_checksum", "truncated"});
  }
  const std::vector<std::byte> again = checkpoint->Bytes();
  return std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()) ? ""
                                                                            : "other bytes again";
}

ScratchPack::ScratchPack(const std::string& folder)
    : folder_(folder),
      experts_(ReadFile(PackFolder(folder).experts())),
      buffer_(ItemChecker::kBufferBytes) {
  const std::string path = PackFolder(folder).experts();
  std::filesystem::remove(path);
  std::filesystem::create_symlink(file_.path(), path);
}

std::string ScratchPack::BrokenExperts(absl::string_view bytes) {
  file_.Set(bytes);
  const absl::StatusOr<std::unique_ptr<Pack>> pack = Pack::Open(folder_);
  if (!pack.ok()) {
    return WrongKind(pack.status(), {"bad_magic", "bad_version", "bad_checksum", "pack_mismatch"});
  }
  if (bytes.size() != experts_.size()) return "a file of another length is taken";
  const PackManifest& manifest = (*pack)->manifest();
  const ItemChecker checker(manifest,
                            {.shards = std::vector<const FileMapping*>(manifest.shards.size()),
                             .experts = &(*pack)->experts()});
  const absl::string_view right = experts_;
  for (const PackItem& item : ExpertsItems(manifest)) {
    const auto start = static_cast<size_t>(item.run.offset);
    const auto length = static_cast<size_t>(item.run.bytes);
    const bool differs = right.substr(start, length) != bytes.substr(start, length);
    const std::optional<PackFinding> finding = checker.Check(item, absl::MakeSpan(buffer_));
    if (finding.has_value() != differs) {
      return absl::StrCat(Describe(manifest, item), differs ? " differs unseen" : " is right");
    }
  }
  return "";
}

}  // namespace strata
