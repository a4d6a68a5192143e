// Compares items of a pack with what lies in its files.
//
// Thread-safe; each thread brings a buffer of its own. Manifest and files outlive it.
#ifndef STRATA_CACHE_PACK_ITEM_CHECKER_H_
#define STRATA_CACHE_PACK_ITEM_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/checksum.h"
#include "strata/core/file_mapping.h"

namespace strata {

// Something of a pack that is not as it should be.
struct PackFinding {
  PackItem item;
  std::string file;    // Its path.
  int64_t offset = 0;  // Of the first byte that is known to be wrong, else of the item.
  int64_t bytes = 0;   // From there on: those among which the wrong ones are.
  std::string problem;
};

class ItemChecker {
 public:
  struct Files {
    std::vector<const FileMapping*> shards;  // Null where one could not be opened.
    const FileMapping* experts = nullptr;    // Null without one.
  };
  static constexpr size_t kBufferBytes = size_t{2} << 20;

  ItemChecker(const PackManifest& manifest, Files files);

  // Empty when the item is right. Its file must be there. The buffer has kBufferBytes.
  std::optional<PackFinding> Check(const PackItem& item, absl::Span<std::byte> buffer) const;

 private:
  const FileMapping* FileOf(const PackItem& item) const;
  // The same bytes elsewhere: an expert's slice in the other file.
  std::optional<PackItem> TwinOf(const PackItem& item) const;
  absl::StatusOr<Checksum> HashOf(const PackItem& item, absl::Span<std::byte> buffer) const;
  // Offset of the first byte in which the items differ, from the item's start, while the twin is
  // right; empty when that is not known.
  std::optional<int64_t> FirstWrongByte(const PackItem& item, absl::Span<std::byte> buffer) const;
  std::optional<PackFinding> CheckBytes(const PackItem& item, absl::Span<const std::byte> expected,
                                        absl::Span<std::byte> buffer) const;

  const PackManifest& manifest_;
  const Files files_;
  const std::vector<std::byte> header_;  // That experts.bin should have.
  const std::vector<std::byte> zeros_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_ITEM_CHECKER_H_
