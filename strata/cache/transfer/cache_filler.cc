#include "strata/cache/transfer/cache_filler.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/transfer/copy_queue.h"
#include "strata/core/checksum.h"
#include "strata/core/device.h"
#include "strata/core/mutex.h"
#include "strata/core/refusal.h"
#include "strata/core/status_copy.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {
absl::StatusOr<std::unique_ptr<CacheFiller>> CacheFiller::Create(const Options& options,
                                                                 Device& device,
                                                                 ExpertSource& source,
                                                                 StagePool& stages) {
  if (options.num_readers <= 0 || options.num_queues <= 0 || options.blobs_per_submission <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a filler with ", options.num_readers, " readers, ", options.num_queues,
                     " queues and ", options.blobs_per_submission, " blobs a submission"));
  }
  if (source.files().max_blob_bytes() > stages.stage_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("a stage of ", stages.stage_bytes(),
                                                   " bytes does not hold a blob of ",
                                                   source.files().max_blob_bytes()));
  }
  std::vector<std::unique_ptr<CopyQueue>> queues(options.num_queues);
  for (auto& queue : queues) {
    ASSIGN_OR_RETURN(queue, CopyQueue::Create(device));
  }
  return std::unique_ptr<CacheFiller>(
      new CacheFiller(options, device, source, stages, std::move(queues)));
}

CacheFiller::CacheFiller(const Options& options, Device& device, ExpertSource& source,
                         StagePool& stages, std::vector<std::unique_ptr<CopyQueue>> queues)
    : options_(options),
      device_(device),
      source_(source),
      stages_(stages),
      queues_(std::move(queues)),
      copies_(queues_.size()),
      workers_(std::max(options.num_readers, options.num_queues),
               [this](int worker) { Work(worker); }) {}

CacheFiller::~CacheFiller() { workers_.Wait(); }

void CacheFiller::Start(const Job& job) {
  SetJob(job);
  workers_.Start(NumWorkersForJob());
}

absl::Status CacheFiller::Fill(const Job& job) {
  SetJob(job);
  // What one thread does alone the caller does itself.
  if (const int num_workers = NumWorkersForJob(); num_workers > 1) {
    workers_.Start(num_workers);
  } else {
    Work(0);
  }
  return Finish();
}

int CacheFiller::NumWorkersForJob() const {
  const size_t blobs = options_.blobs_per_submission;
  const size_t num_in_place =
      std::min((in_place_.items.size() + blobs - 1) / blobs, queues_.size());
  const size_t num_pieces =
      std::max({num_in_place, through_stages_.items.size(), to_checksum_.items.size(), size_t{1}});
  return static_cast<int>(std::min<size_t>(num_pieces, workers_.num_workers()));
}

void CacheFiller::SetJob(const Job& job) {
  CHECK(!workers_.running()) << "a job is still running";
  CHECK(job.checksums.empty() || job.checksums.size() == job.items.size());
  job_ = job;
  for (List* list : {&in_place_, &through_stages_, &to_checksum_}) {
    list->items.clear();
    list->next = 0;
  }
  for (size_t i = 0; i < job.items.size(); ++i) {
    const bool in_place = options_.copy_in_place && source_.Locate(job.items[i].id).pinned();
    (in_place ? in_place_ : through_stages_).items.push_back(static_cast<int>(i));
  }
  if (!job.checksums.empty()) to_checksum_.items = in_place_.items;
  for (const auto& queue : queues_) {
    if (const absl::Status status = queue->WaitFor(job.after); !status.ok()) Fail(status);
  }
}

bool CacheFiller::Done() const {
  return !workers_.running() && std::all_of(queues_.begin(), queues_.end(),
                                            [](const auto& queue) { return queue->Done(); });
}

absl::Status CacheFiller::Finish() {
  workers_.Wait();
  for (const auto& queue : queues_) {
    if (const absl::Status status = queue->Finish(); !status.ok()) {
      Fail(WithPrefix("copying experts to the device", status));
    }
  }
  if (const absl::Status status = source_.files().CheckUnchanged(); !status.ok()) Fail(status);
  job_.after.Clear();
  if (failed_.exchange(false)) device_.ClearError();
  MutexLock lock(&mutex_);
  return std::exchange(failure_, absl::OkStatus());
}

// A few threads issue what needs no reading, one for each queue; then all read.
void CacheFiller::Work(int worker) {
  const absl::Status refused = CatchRefusal([&] {
    CopyAndRead(worker);
    return absl::OkStatus();
  });
  if (!refused.ok()) Fail(refused);
}

void CacheFiller::CopyAndRead(int worker) {
  if (worker < static_cast<int>(queues_.size())) CopyInPlace(worker);
  if (worker < options_.num_readers) CopyThroughStages(worker);
  ChecksumInPlace();
}

absl::Span<const int> CacheFiller::List::Take(size_t most) {
  const size_t first = std::min(next.fetch_add(most), items.size());
  return absl::MakeConstSpan(items).subspan(first, most);
}

void CacheFiller::CopyInPlace(int queue) {
  while (!failed_) {
    const absl::Span<const int> items = in_place_.Take(options_.blobs_per_submission);
    if (items.empty()) return;
    if (const absl::Status status = SubmitInPlace(queue, items); !status.ok()) {
      const std::string others = absl::StrCat("one of ", items.size(), " experts from here on");
      Fail(CopyError(job_.items[items[0]].id, WithPrefix(others, status)));
    }
  }
}

absl::StatusOr<DeviceEvent> CacheFiller::Issue(absl::Span<const HostToDeviceCopy> copies,
                                               CopyQueue& queue) {
  const Stopwatch stopwatch;
  absl::StatusOr<DeviceEvent> event = queue.Submit(copies, options_.issue);
  issue_ns_ += stopwatch.ns();
  num_copies_ += static_cast<int64_t>(copies.size());
  return event;
}

absl::Status CacheFiller::SubmitInPlace(int queue, absl::Span<const int> items) {
  std::vector<HostToDeviceCopy>& copies = copies_[queue];
  copies.clear();
  for (const int item : items) {
    const auto [id, destination] = job_.items[item];
    const HostBlob blob = source_.Locate(id);
    if (blob.in_one_piece) {
      copies.push_back({destination, blob.parts()[0].bytes.data(), source_.files().BlobBytes(id)});
      continue;
    }
    for (const HostBlob::Part& part : blob.parts()) {
      copies.push_back({destination + part.offset_in_blob, part.bytes.data(),
                        static_cast<int64_t>(part.bytes.size())});
    }
  }
  RETURN_IF_ERROR(Issue(copies, *queues_[queue]).status());
  for (const int item : items) CountBytes(item, source_.Locate(job_.items[item].id).form);
  return absl::OkStatus();
}

void CacheFiller::CopyThroughStages(int worker) {
  CopyQueue& queue = *queues_[worker % queues_.size()];
  while (!failed_) {
    const absl::Span<const int> items = through_stages_.Take(1);
    if (items.empty()) return;
    if (const absl::Status status = CopyThroughStage(items[0], queue); !status.ok()) Fail(status);
  }
}

absl::Status CacheFiller::CopyThroughStage(int item, CopyQueue& queue) {
  const auto [id, destination] = job_.items[item];
  absl::StatusOr<StagePool::Stage> stage = stages_.Acquire();
  if (!stage.ok()) return CopyError(id, stage.status());
  ASSIGN_OR_RETURN(const HostBlob blob, source_.ReadToStage(id, *stage));
  if (!job_.checksums.empty()) AddChecksum(item, blob);
  // A blob in a stage is laid out as in a slot: one copy moves all of it.
  const HostToDeviceCopy copy = {destination, stage->data(), source_.files().BlobBytes(id)};
  const absl::StatusOr<DeviceEvent> copied = Issue({&copy, 1}, queue);
  absl::Status status = copied.status();
  if (status.ok()) {
    stage->ReleaseAfter(*copied);
    CountBytes(item, blob.form);
    if (options_.wait_for_each_copy) status = device_.Wait(*copied);
  }
  return status.ok() ? status : CopyError(id, status);
}

absl::Status CacheFiller::CopyError(ExpertId id, const absl::Status& status) const {
  return WithPrefix(absl::StrCat("copying ", source_.files().DescribeSlices(id)), status);
}

void CacheFiller::ChecksumInPlace() {
  while (!failed_) {
    const absl::Span<const int> items = to_checksum_.Take(1);
    if (items.empty()) return;
    AddChecksum(items[0], source_.Locate(job_.items[items[0]].id));
  }
}

void CacheFiller::AddChecksum(int item, const HostBlob& blob) {
  ChecksumBuilder builder;
  for (const HostBlob::Part& part : blob.parts()) builder.Add(part.bytes);
  job_.checksums[item] = builder.Finish();
}

void CacheFiller::CountBytes(int item, HostForm form) {
  bytes_from_[static_cast<int>(form)] += source_.files().BlobBytes(job_.items[item].id);
}

void CacheFiller::Fail(const absl::Status& failure) {
  MutexLock lock(&mutex_);
  if (failure_.ok()) failure_ = DeepCopy(failure);
  failed_ = true;
}

CacheFiller::Counters CacheFiller::counters() const {
  Counters counters;
  for (int i = 0; i < kNumHostForms; ++i) counters.bytes_from[i] = bytes_from_[i];
  counters.num_copies = num_copies_;
  counters.issue_ns = issue_ns_;
  return counters;
}

}  // namespace strata
