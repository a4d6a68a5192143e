// Moves blobs from host memory to the device, as fast as the link takes them.
//
// What is pinned already is copied from where it lies, many slices in one submission. The rest is
// read by several threads into stages and copied from there; every stage comes back when its copy's
// event has ended. Each queue of copies has its own stream.
//
// One job at a time, started by one thread, which may do other things until Finish. A job costs no
// allocation once one of its size has run. Collaborators outlive it. Sizes are in bytes.
#ifndef STRATA_CACHE_TRANSFER_CACHE_FILLER_H_
#define STRATA_CACHE_TRANSFER_CACHE_FILLER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/transfer/copy_queue.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/checksum.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_events.h"
#include "strata/core/mutex.h"
#include "strata/core/worker_group.h"

namespace strata {

class CacheFiller {
 public:
  struct Options {
    int num_readers = 8;  // Threads; one copies 9 GB/s of page cache, eight reach a PCIe 5 link.
    int num_queues = 2;   // Streams.
    // Blobs of one submission when they are copied from where they lie.
    int blobs_per_submission = 32;
    CopyQueue::Issue issue = CopyQueue::Issue::kTogether;
    bool copy_in_place = true;        // Otherwise pinned sources go through stages, too.
    bool wait_for_each_copy = false;  // A stage's copy ends before its reader goes on.
  };

  struct Job {
    // Hottest first: they are started in this order. None of the experts leaves the arena, and no
    // window is registered anew, before Finish.
    absl::Span<const FillItem> items = {};
    // No copy begins before: what may still use a destination. Empty when nothing does.
    DeviceEvents after = {};
    // Empty, or as many as items: the checksum of each blob's slices, one after the other, computed
    // from the bytes that are copied.
    absl::Span<Checksum> checksums = {};
  };

  // Of all jobs so far.
  struct Counters {
    std::array<int64_t, kNumHostForms> bytes_from = {};  // By the form they were copied from.
    int64_t num_copies = 0;
    int64_t issue_ns = 0;  // In the calls that queued them, of all threads; waits for room count.
  };

  // kInvalidArgument when the largest blob does not fit a stage.
  static absl::StatusOr<std::unique_ptr<CacheFiller>> Create(const Options& options, Device& device,
                                                             ExpertSource& source,
                                                             StagePool& stages);
  ~CacheFiller();

  // Items and checksums live until Finish.
  void Start(const Job& job);
  // True when Finish will not block.
  bool Done() const;
  // Blocks until every byte has arrived. On an error no destination of the job may be trusted; it
  // names expert, role and shard where one is to blame. Nothing of the job runs any more.
  absl::Status Finish();
  absl::Status Fill(const Job& job);

  Counters counters() const;

 private:
  // A list of items that workers take from.
  struct List {
    std::vector<int> items;
    std::atomic<size_t> next = 0;
    absl::Span<const int> Take(size_t most);
  };

  CacheFiller(const Options& options, Device& device, ExpertSource& source, StagePool& stages,
              std::vector<std::unique_ptr<CopyQueue>> queues);

  void SetJob(const Job& job);
  // How many of the workers the job keeps busy.
  int NumWorkersForJob() const;
  void Work(int worker);
  void CopyAndRead(int worker);
  void CopyInPlace(int queue);
  absl::Status SubmitInPlace(int queue, absl::Span<const int> items);
  absl::StatusOr<DeviceEvent> Issue(absl::Span<const HostToDeviceCopy> copies, CopyQueue& queue);
  void CopyThroughStages(int worker);
  absl::Status CopyThroughStage(int item, CopyQueue& queue);
  absl::Status CopyError(ExpertId id, const absl::Status& status) const;
  void ChecksumInPlace();
  void AddChecksum(int item, const HostBlob& blob);
  void CountBytes(int item, HostForm form);
  void Fail(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  Device& device_;
  ExpertSource& source_;
  StagePool& stages_;
  const std::vector<std::unique_ptr<CopyQueue>> queues_;

  // The job. Set by Start while the workers rest.
  Job job_;
  List in_place_, through_stages_, to_checksum_;
  std::vector<std::vector<HostToDeviceCopy>> copies_;  // Room for a submission of each queue.
  std::atomic<bool> failed_ = false;

  std::array<std::atomic<int64_t>, kNumHostForms> bytes_from_ = {};
  std::atomic<int64_t> num_copies_ = 0, issue_ns_ = 0;
  Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  WorkerGroup workers_;  // Last: its threads use all of the above.
};

}  // namespace strata

#endif  // STRATA_CACHE_TRANSFER_CACHE_FILLER_H_
