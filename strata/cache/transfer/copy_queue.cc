#include "strata/cache/transfer/copy_queue.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_events.h"
#include "strata/core/mutex.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Submitted at once: half a queue, so that the next load is issued while this one moves.
constexpr int kLoadCopies = Device::kMaxQueuedCopies / 2;

}  // namespace

absl::StatusOr<std::unique_ptr<CopyQueue>> CopyQueue::Create(Device& device) {
  ASSIGN_OR_RETURN(DeviceStream stream, device.CreateStream());
  return std::unique_ptr<CopyQueue>(new CopyQueue(device, std::move(stream)));
}

CopyQueue::~CopyQueue() { device_.Drain(stream_); }

absl::StatusOr<DeviceEvent> CopyQueue::Submit(absl::Span<const HostToDeviceCopy> copies,
                                              Issue issue) {
  MutexLock lock(&mutex_);
  DeviceEvent last;
  while (!copies.empty()) {
    const auto load = copies.subspan(0, kLoadCopies);
    absl::StatusOr<DeviceEvent> event = SubmitOneLoad(load, issue);
    if (!event.ok()) {
      Reset();
      return event;
    }
    last = *std::move(event);
    copies.remove_prefix(load.size());
  }
  return last;
}

absl::StatusOr<DeviceEvent> CopyQueue::SubmitOneLoad(absl::Span<const HostToDeviceCopy> copies,
                                                     Issue issue) {
  const int num_copies = static_cast<int>(copies.size());
  RETURN_IF_ERROR(MakeRoom(num_copies));
  ASSIGN_OR_RETURN(DeviceEvent event, IssueAndRecord(copies, issue));
  ring_[(oldest_ + num_submissions_) % ring_.size()] = {event, num_copies};
  ++num_submissions_;
  num_copies_ += num_copies;
  return event;
}

absl::StatusOr<DeviceEvent> CopyQueue::IssueAndRecord(absl::Span<const HostToDeviceCopy> copies,
                                                      Issue issue) {
  if (issue == Issue::kTogether && copies.size() > 1) {
    RETURN_IF_ERROR(device_.CopyBatchToDevice(copies, stream_));
    return device_.Record(stream_);
  }
  for (const HostToDeviceCopy& copy : copies) {
    RETURN_IF_ERROR(device_.CopyToDevice(copy.destination,
                                         absl::MakeConstSpan(copy.source, copy.bytes), stream_));
  }
  return device_.Record(stream_);
}

absl::Status CopyQueue::MakeRoom(int num_copies) {
  while (num_copies_ + num_copies > Device::kMaxQueuedCopies) {
    RETURN_IF_ERROR(device_.Wait(ring_[oldest_].event));
    PopOldest();
  }
  return absl::OkStatus();
}

void CopyQueue::PopOldest() {
  InFlight& oldest = ring_[oldest_];
  num_copies_ -= oldest.num_copies;
  oldest = InFlight();
  oldest_ = (oldest_ + 1) % static_cast<int>(ring_.size());
  --num_submissions_;
}

absl::Status CopyQueue::WaitFor(const DeviceEvents& events) {
  MutexLock lock(&mutex_);
  return events.HoldBack(device_, stream_);
}

bool CopyQueue::Done() {
  MutexLock lock(&mutex_);
  if (num_submissions_ == 0) return true;
  const InFlight& newest = ring_[(oldest_ + num_submissions_ - 1) % ring_.size()];
  const absl::StatusOr<bool> ended = device_.HasEnded(newest.event);
  return !ended.ok() || *ended;  // What is wrong, Finish tells.
}

absl::Status CopyQueue::Finish() {
  MutexLock lock(&mutex_);
  absl::Status outcome;
  while (num_submissions_ > 0 && outcome.ok()) {
    outcome = device_.Wait(ring_[oldest_].event);
    PopOldest();
  }
  if (!outcome.ok()) Reset();
  return outcome;
}

void CopyQueue::Reset() {
  device_.Drain(stream_);
  device_.ClearError();
  while (num_submissions_ > 0) PopOldest();
}

}  // namespace strata
