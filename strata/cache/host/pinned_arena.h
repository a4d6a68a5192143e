// Pinned copies of experts, each blob in one piece: for files that cannot be pinned in place, and
// for experts whose slices are not aligned there.
//
// The arena is cut into places. One that holds no expert is spare: Insert copies an expert into it,
// and Release gives the expert's place back once the last reader's event has ended, as a stage
// would be.
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
#include "strata/core/device_event.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"

namespace strata {

class PinnedArena {
 public:
  struct Options {
    int num_spare_places = 0;  // Each as large as the largest blob.
    int num_readers = 8;
  };

  // Reads as many of the experts, from the first on, as the pinned memory that is to be had can
  // hold beside the spare places. kResourceExhausted when it holds none; a file's error is an
  // error.
  static absl::StatusOr<std::unique_ptr<PinnedArena>> Create(
      const Options& options, absl::Span<const ExpertId> hottest_first, BlobReader& reader,
      HostMemory& memory);

  // The expert's blob, pinned; null when it has no place here.
  const std::byte* Find(ExpertId id) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Copies an expert into a spare place and returns its blob, at once if it is here already.
  // kResourceExhausted when no spare place is large enough. One thread inserts or releases an
  // expert at a time.
  absl::StatusOr<const std::byte*> Insert(ExpertId id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Find stops returning the expert; its place is spare after the event.
  void Release(ExpertId id, DeviceEvent last_reader) ABSL_LOCKS_EXCLUDED(mutex_);

  int num_experts() const ABSL_LOCKS_EXCLUDED(mutex_);
  int num_spare_places() const ABSL_LOCKS_EXCLUDED(mutex_);
  const HostBuffer& memory() const { return memory_; }

 private:
  struct Place {
    int64_t offset = 0;
    int64_t bytes = 0;
    DeviceEvent last_reader;  // Of the expert that was here before.
  };

  PinnedArena(BlobReader& reader, Device& device, HostBuffer memory);
  absl::Status ReadAll(absl::Span<const ExpertId> ids, int num_readers);
  // The smallest spare place that is large enough and read no more; -1 when there is none.
  absl::StatusOr<int> TakeSpare(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
