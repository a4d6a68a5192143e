// Reads slots back from the device and compares every byte with the expert's source, or with the
// checksum of what was copied: any slots, or all of them. That slot 0 is right says nothing of
// slot 1.
//
// All its threads and streams are made with it: a check is refused none. Used by one thread.
// Collaborators outlive it; a stage holds the largest blob.
#ifndef STRATA_CACHE_TRANSFER_SLOT_CHECKER_H_
#define STRATA_CACHE_TRANSFER_SLOT_CHECKER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/checksum.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/shared_work.h"

namespace strata {

class SlotChecker {
 public:
  static absl::StatusOr<std::unique_ptr<SlotChecker>> Create(Device& device,
                                                             const ExpertSource& source,
                                                             StagePool& stages,
                                                             int num_readers = 8);

  // kDataLoss when a slot differs: expert, role, shard and the first wrong byte are named.
  absl::Status Check(absl::Span<const FillItem> slots);
  // Compares with checksums of the slots' parts, one after the other, in place of the source.
  absl::Status Check(absl::Span<const FillItem> slots, absl::Span<const Checksum> checksums);

 private:
  SlotChecker(Device& device, const ExpertSource& source, StagePool& stages,
              std::vector<DeviceStream> streams);
  // `checksum` may be null.
  absl::Status CheckSlot(const FillItem& slot, const Checksum* checksum,
                         const DeviceStream& stream);
  absl::Status CompareParts(ExpertId id, const std::byte* copy) const;
  absl::Status CompareChecksum(ExpertId id, const std::byte* copy, const Checksum& expected) const;

  Device& device_;
  const ExpertSource& source_;
  StagePool& stages_;
  const std::vector<DeviceStream> streams_;  // One for each reader.
  SharedWork readers_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TRANSFER_SLOT_CHECKER_H_
