// Brings slots back from device memory into stages, several at once, and shows each to a function.
//
// All its threads and streams are made with it. Used by one thread; collaborators outlive it.
#ifndef STRATA_CACHE_PACK_SLOT_READER_H_
#define STRATA_CACHE_PACK_SLOT_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"
#include "strata/core/shared_work.h"

namespace strata {

class SlotReader {
 public:
  struct Slot {
    const std::byte* data = nullptr;  // Device memory.
    int64_t bytes = 0;                // At most those of a stage.
  };
  // Of slots[i], by any of its threads.
  using Use = absl::FunctionRef<absl::Status(int64_t i, absl::Span<const std::byte> bytes)>;

  static absl::StatusOr<std::unique_ptr<SlotReader>> Create(Device& device, StagePool& stages,
                                                            int num_readers);

  // The first error, of the device or of `use`, after which no further slot is begun.
  absl::Status Read(absl::Span<const Slot> slots, Use use);

 private:
  SlotReader(Device& device, StagePool& stages, std::vector<DeviceStream> streams)
      : device_(device),
        stages_(stages),
        streams_(std::move(streams)),
        readers_(static_cast<int>(streams_.size())) {}

  absl::Status ReadSlot(const Slot& slot, absl::Span<std::byte> into, const DeviceStream& stream);

  Device& device_;
  StagePool& stages_;
  const std::vector<DeviceStream> streams_;  // One for each reader.
  SharedWork readers_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_SLOT_READER_H_
