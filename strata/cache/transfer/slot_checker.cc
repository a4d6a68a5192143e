#include "strata/cache/transfer/slot_checker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/checksum.h"
#include "strata/core/device.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/shared_work.h"
#include "strata/core/status_macros.h"

namespace strata {

absl::StatusOr<std::unique_ptr<SlotChecker>> SlotChecker::Create(Device& device,
                                                                 const ExpertSource& source,
                                                                 StagePool& stages,
                                                                 int num_readers) {
  std::vector<DeviceStream> streams(num_readers);
  for (DeviceStream& stream : streams) {
    ASSIGN_OR_RETURN(stream, device.CreateStream());
  }
  return absl::WrapUnique(new SlotChecker(device, source, stages, std::move(streams)));
}

SlotChecker::SlotChecker(Device& device, const ExpertSource& source, StagePool& stages,
                         std::vector<DeviceStream> streams)
    : device_(device),
      source_(source),
      stages_(stages),
      streams_(std::move(streams)),
      readers_(static_cast<int>(streams_.size())) {}

absl::Status SlotChecker::Check(absl::Span<const FillItem> slots) { return Check(slots, {}); }

absl::Status SlotChecker::Check(absl::Span<const FillItem> slots,
                                absl::Span<const Checksum> checksums) {
  CHECK(checksums.empty() || checksums.size() == slots.size());
  RETURN_IF_ERROR(readers_.Run(std::ssize(slots), [&](int reader, int64_t i) {
    return CheckSlot(slots[i], checksums.empty() ? nullptr : &checksums[i], streams_[reader]);
  }));
  return source_.files().CheckUnchanged();
}

absl::Status SlotChecker::CheckSlot(const FillItem& slot, const Checksum* checksum,
                                    const DeviceStream& stream) {
  if (checksum == nullptr) source_.Prefetch({&slot.id, 1});
  ASSIGN_OR_RETURN(StagePool::Stage stage, stages_.Acquire());
  // Not what lies between the parts, which nobody wrote.
  const ExpertSlices& slices = source_.files().Slices(slot.id);
  const BlobLayout layout = slices.layout();
  absl::Status copied;
  for (int i = 0; i < layout.num_parts() && copied.ok(); ++i) {
    const auto part = stage.bytes().subspan(static_cast<size_t>(layout.offset(i)),
                                            static_cast<size_t>(slices[i].bytes));
    copied = device_.CopyToHost(part, slot.destination + layout.offset(i), stream);
  }
  if (copied.ok()) {
    const absl::StatusOr<DeviceEvent> event = device_.Record(stream);
    copied = event.ok() ? device_.Wait(*event) : event.status();
  }
  if (!copied.ok()) {
    // The copy may still write the stage.
    device_.Drain(stream);
    device_.ClearError();
    return absl::Status(copied.code(),
                        absl::StrCat("reading back the slot of ", ExpertFiles::Describe(slot.id),
                                     ": ", copied.message()));
  }
  return checksum == nullptr ? CompareParts(slot.id, stage.data())
                             : CompareChecksum(slot.id, stage.data(), *checksum);
}

absl::Status SlotChecker::CompareParts(ExpertId id, const std::byte* copy) const {
  const HostBlob blob = source_.Locate(id);
  const ExpertSlices& slices = source_.files().Slices(id);
  for (int i = 0; i < blob.num_parts; ++i) {
    const HostBlob::Part& part = blob.part_array[i];
    const std::byte* const found = copy + part.offset_in_blob;
    if (std::memcmp(found, part.bytes.data(), part.bytes.size()) == 0) continue;
    const auto wrong = std::mismatch(part.bytes.begin(), part.bytes.end(), found);
    return absl::DataLossError(
        absl::StrCat("the slot of ", source_.files().Describe(id, slices[i]),
                     " differs from its source at byte ", wrong.first - part.bytes.begin(), " of ",
                     part.bytes.size(), ": ", static_cast<int>(*wrong.second), " instead of ",
                     static_cast<int>(*wrong.first)));
  }
  return absl::OkStatus();
}

absl::Status SlotChecker::CompareChecksum(ExpertId id, const std::byte* copy,
                                          const Checksum& expected) const {
  ChecksumBuilder builder;
  const ExpertSlices& slices = source_.files().Slices(id);
  const BlobLayout layout = slices.layout();
  for (int i = 0; i < layout.num_parts(); ++i) {
    builder.Add(absl::MakeConstSpan(copy + layout.offset(i), slices[i].bytes));
  }
  const Checksum found = builder.Finish();
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the slot of ", source_.files().DescribeSlices(id),
                                          " has the checksum ", found.ToHex(), " instead of ",
                                          expected.ToHex(), ", that of the bytes copied"));
}

}  // namespace strata
