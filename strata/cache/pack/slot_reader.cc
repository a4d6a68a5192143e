#include "strata/cache/pack/slot_reader.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/status_copy.h"
#include "strata/core/status_macros.h"

namespace strata {

absl::StatusOr<std::unique_ptr<SlotReader>> SlotReader::Create(Device& device, StagePool& stages,
                                                               int num_readers) {
  std::vector<DeviceStream> streams(static_cast<size_t>(num_readers));
  for (DeviceStream& stream : streams) {
    ASSIGN_OR_RETURN(stream, device.CreateStream());
  }
  return absl::WrapUnique(new SlotReader(device, stages, std::move(streams)));
}

absl::Status SlotReader::Read(absl::Span<const Slot> slots, Use use) {
  return readers_.Run(std::ssize(slots), [&](int reader, int64_t i) {
    const Slot& slot = slots[static_cast<size_t>(i)];
    ASSIGN_OR_RETURN(StagePool::Stage stage, stages_.Acquire());
    const absl::Span<std::byte> bytes = stage.bytes().first(static_cast<size_t>(slot.bytes));
    RETURN_IF_ERROR(ReadSlot(slot, bytes, streams_[static_cast<size_t>(reader)]));
    return use(i, bytes);
  });
}

absl::Status SlotReader::ReadSlot(const Slot& slot, absl::Span<std::byte> into,
                                  const DeviceStream& stream) {
  absl::Status status = device_.CopyToHost(into, slot.data, stream);
  if (status.ok()) {
    const absl::StatusOr<DeviceEvent> event = device_.Record(stream);
    status = event.ok() ? device_.Wait(*event) : event.status();
  }
  if (status.ok()) return status;
  // The copy may still write the stage.
  device_.Drain(stream);
  device_.ClearError();
  return WithPrefix("reading back a slot", status);
}

}  // namespace strata
