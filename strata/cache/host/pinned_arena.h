// Pinned copies of experts, each blob in one piece: for files that cannot be pinned in place, and
// for experts whose slices are not aligned there.
//
// The arena is cut into places. One that holds no expert is spare: Insert copies an expert into it,
// and Release gives the expert's place back once all its readers' events have ended, as a stage
// would be. Experts differ in size: one of each size stays spare for experts of that size, since a
// small expert in the last large place would keep large ones out for good.
//
// Thread-safe. Device, budget and reader outlive it. Sizes are in bytes.
#ifndef STRATA_CACHE_HOST_PINNED_ARENA_H_
#define STRATA_CACHE_HOST_PINNED_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/core/device.h"
#include "strata/core/device_events.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"

namespace strata {

class PinnedArena {
 public:
  struct Options {
    // Each as large as the largest blob; with any, there is one of each smaller size as well.
    int num_spare_places = 0;
    int num_readers = 8;
  };

  // Of the places that are spare at first.
  static int64_t SpareBytes(const ExpertFiles& files, int num_spare_places);

  // Reads as many of the experts, from the first on, as the pinned memory that is to be had can
  // hold beside the spare places. kResourceExhausted when it holds none; a file's error is an
  // error.
  static absl::StatusOr<std::unique_ptr<PinnedArena>> Create(
      const Options& options, absl::Span<const ExpertId> hottest_first, BlobReader& reader,
      HostMemory& memory);

  // The expert's blob, pinned; null when it has no place here.
  const std::byte* Find(ExpertId id) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Copies an expert into a spare place and returns its blob, at once if it is here already.
  // kResourceExhausted when there is no spare place for it. One thread inserts or releases an
  // expert at a time.
  absl::StatusOr<const std::byte*> Insert(ExpertId id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Find stops returning the expert; its place is spare, and taken again once the events have
  // ended.
  void Release(ExpertId id, const DeviceEvents& readers) ABSL_LOCKS_EXCLUDED(mutex_);

  // Each holds an expert or is spare; during an Insert, neither.
  int num_places() const { return static_cast<int>(places_.size()); }
  int num_experts() const ABSL_LOCKS_EXCLUDED(mutex_);
  int num_spare_places() const ABSL_LOCKS_EXCLUDED(mutex_);
  const HostBuffer& memory() const { return memory_; }

 private:
  struct Place {
    int64_t offset = 0;
    int64_t bytes = 0;
    DeviceEvents readers;  // Of the expert that was here before.
  };

  PinnedArena(BlobReader& reader, Device& device, HostBuffer memory);
  absl::Status ReadAll(absl::Span<const ExpertId> ids, int num_readers);
  absl::StatusOr<int> TakeSpare(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a blob of so many bytes may take a spare place of this size.
  bool MayTake(int64_t place_bytes, int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Span<std::byte> BytesOf(int place) const;

  BlobReader& reader_;
  Device& device_;
  const HostBuffer memory_;
  std::vector<Place> places_;  // Bounds are fixed after Create; events are guarded.

  mutable Mutex mutex_;
  absl::flat_hash_map<ExpertId, int, ExpertFiles::Hash> place_of_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> spare_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace strata

#endif  // STRATA_CACHE_HOST_PINNED_ARENA_H_
