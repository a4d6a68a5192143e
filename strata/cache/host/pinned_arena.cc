#include "strata/cache/host/pinned_arena.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/core/device_event.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"
#include "strata/core/status_macros.h"
#include "strata/core/worker_group.h"

namespace strata {

absl::StatusOr<std::unique_ptr<PinnedArena>> PinnedArena::Create(
    const Options& options, absl::Span<const ExpertId> hottest_first, BlobReader& reader,
    HostMemory& memory) {
  const ExpertFiles& files = reader.files();
  // Places begin at multiples of a unit, which is no larger than the smallest waste worth a
  // thought.
  constexpr int64_t kUnit = ExpertLayout::kBlobAlignment;
  const int64_t spare_bytes = files.max_blob_bytes() * options.num_spare_places;
  int64_t wanted_bytes = spare_bytes;
  for (const ExpertId id : hottest_first) wanted_bytes += files.BlobBytes(id);
  if (hottest_first.empty()) return absl::InvalidArgumentError("an arena of no experts");
  ASSIGN_OR_RETURN(
      HostBuffer buffer,
      memory.Allocate({.purpose = "arena of experts",
                       .unit_bytes = kUnit,
                       .num_units = wanted_bytes / kUnit,
                       .min_units = (spare_bytes + files.BlobBytes(hottest_first[0])) / kUnit,
                       .pageable_will_do = false}));
  std::unique_ptr<PinnedArena> arena(new PinnedArena(reader, memory.device(), std::move(buffer)));
  int64_t end = 0;
  const auto add_place = [&](int64_t bytes) {
    arena->places_.push_back({.offset = end, .bytes = bytes, .last_reader = {}});
    end += bytes;
    return static_cast<int>(arena->places_.size()) - 1;
  };
  MutexLock lock(&arena->mutex_);
  for (int i = 0; i < options.num_spare_places; ++i) {
    arena->spare_.push_back(add_place(files.max_blob_bytes()));
  }
  size_t num_experts = 0;
  for (const ExpertId id : hottest_first) {
    if (end + files.BlobBytes(id) > arena->memory_.size()) break;
    arena->place_of_[id] = add_place(files.BlobBytes(id));
    ++num_experts;
  }
  RETURN_IF_ERROR(arena->ReadAll(hottest_first.subspan(0, num_experts), options.num_readers));
  return arena;
}

PinnedArena::PinnedArena(BlobReader& reader, Device& device, HostBuffer memory)
    : reader_(reader), device_(device), memory_(std::move(memory)) {}

// The places of experts follow the spare ones, in the order of `ids`.
absl::Status PinnedArena::ReadAll(absl::Span<const ExpertId> ids, int num_readers) {
  const int first_place = static_cast<int>(places_.size() - ids.size());
  std::atomic<size_t> next = 0;
  std::vector<absl::Status> failures(num_readers);
  WorkerGroup readers(num_readers, [&](int reader) {
    for (size_t i = next++; i < ids.size() && failures[reader].ok(); i = next++) {
      failures[reader] = reader_.Read(ids[i], BytesOf(first_place + static_cast<int>(i)));
    }
  });
  readers.Start();
  readers.Wait();
  for (const absl::Status& failure : failures) RETURN_IF_ERROR(failure);
  return reader_.files().CheckUnchanged();
}

const std::byte* PinnedArena::Find(ExpertId id) const {
  MutexLock lock(&mutex_);
  const auto found = place_of_.find(id);
  return found == place_of_.end() ? nullptr : BytesOf(found->second).data();
}

absl::StatusOr<const std::byte*> PinnedArena::Insert(ExpertId id) {
  if (const std::byte* blob = Find(id); blob != nullptr) return blob;
  int place = 0;
  {
    MutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(place, TakeSpare(reader_.files().BlobBytes(id)));
  }
  const absl::Status read = reader_.Read(id, BytesOf(place));
  MutexLock lock(&mutex_);
  if (!read.ok()) {
    spare_.push_back(place);
    return read;
  }
  place_of_[id] = place;
  return BytesOf(place).data();
}

absl::StatusOr<int> PinnedArena::TakeSpare(int64_t bytes) {
  auto best = spare_.end();
  for (auto spare = spare_.begin(); spare != spare_.end(); ++spare) {
    const Place& place = places_[*spare];
    if (place.bytes < bytes) continue;
    if (best != spare_.end() && places_[*best].bytes <= place.bytes) continue;
    ASSIGN_OR_RETURN(const bool ended, device_.HasEnded(place.last_reader));
    if (ended) best = spare;
  }
  if (best == spare_.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the arena has no spare place of ", bytes, " bytes"));
  }
  const int place = *best;
  spare_.erase(best);
  places_[place].last_reader = DeviceEvent();
  return place;
}

void PinnedArena::Release(ExpertId id, DeviceEvent last_reader) {
  MutexLock lock(&mutex_);
  const auto found = place_of_.find(id);
  CHECK(found != place_of_.end()) << ExpertFiles::Describe(id) << " is not in the arena";
  places_[found->second].last_reader = std::move(last_reader);
  spare_.push_back(found->second);
  place_of_.erase(found);
}

int PinnedArena::num_experts() const {
  MutexLock lock(&mutex_);
  return static_cast<int>(place_of_.size());
}

int PinnedArena::num_spare_places() const {
  MutexLock lock(&mutex_);
  return static_cast<int>(spare_.size());
}

absl::Span<std::byte> PinnedArena::BytesOf(int place) const {
  return memory_.bytes().subspan(places_[place].offset, places_[place].bytes);
}

}  // namespace strata
