#include "strata/cache/host/pinned_arena.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/core/device_events.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"
#include "strata/core/refusal.h"
#include "strata/core/shared_work.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Sizes of the places that are spare at first.
std::vector<int64_t> SparePlaces(const ExpertFiles& files, int num_largest) {
  std::vector<int64_t> places(num_largest, files.max_blob_bytes());
  if (num_largest == 0) return places;
  std::set<int64_t> sizes;
  for (const ExpertId id : files.ids()) sizes.insert(files.BlobBytes(id));
  sizes.erase(files.max_blob_bytes());
  places.insert(places.end(), sizes.begin(), sizes.end());
  return places;
}

}  // namespace

int64_t PinnedArena::SpareBytes(const ExpertFiles& files, int num_spare_places) {
  const std::vector<int64_t> places = SparePlaces(files, num_spare_places);
  return std::accumulate(places.begin(), places.end(), int64_t{0});
}

absl::StatusOr<std::unique_ptr<PinnedArena>> PinnedArena::Create(
    const Options& options, absl::Span<const ExpertId> hottest_first, BlobReader& reader,
    HostMemory& memory) {
  const ExpertFiles& files = reader.files();
  // Places begin at multiples of a unit, which is no larger than the smallest waste worth a
  // thought.
  constexpr int64_t kUnit = BlobLayout::kAlignment;
  const std::vector<int64_t> spare_places = SparePlaces(files, options.num_spare_places);
  const int64_t spare_bytes = SpareBytes(files, options.num_spare_places);
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
    arena->places_.push_back({.offset = end, .bytes = bytes, .readers = {}});
    end += bytes;
    return static_cast<int>(arena->places_.size()) - 1;
  };
  MutexLock lock(&arena->mutex_);
  arena->spare_.reserve(spare_places.size() + hottest_first.size());
  arena->place_of_.reserve(spare_places.size() + hottest_first.size());
  for (const int64_t bytes : spare_places) arena->spare_.push_back(add_place(bytes));
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
  SharedWork readers(num_readers);
  RETURN_IF_ERROR(readers.Run(std::ssize(ids), [&](int /*reader*/, int64_t i) {
    return reader_.Read(ids[i], BytesOf(first_place + static_cast<int>(i)));
  }));
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
  // Refused memory must not lose the place.
  const absl::Status read = CatchRefusal([&] { return reader_.Read(id, BytesOf(place)); });
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
    Place& place = places_[*spare];
    if (!MayTake(place.bytes, bytes)) continue;
    if (best != spare_.end() && places_[*best].bytes <= place.bytes) continue;
    if (place.readers.HaveEnded(device_)) best = spare;
  }
  if (best == spare_.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the arena has no spare place of ", bytes, " bytes"));
  }
  const int place = *best;
  spare_.erase(best);
  return place;
}

bool PinnedArena::MayTake(int64_t place_bytes, int64_t bytes) const {
  if (place_bytes <= bytes) return place_bytes == bytes;
  const auto num_alike = std::count_if(
      spare_.begin(), spare_.end(), [&](int spare) { return places_[spare].bytes == place_bytes; });
  return num_alike > 1;
}

void PinnedArena::Release(ExpertId id, const DeviceEvents& readers) {
  MutexLock lock(&mutex_);
  const auto found = place_of_.find(id);
  CHECK(found != place_of_.end()) << ExpertFiles::Describe(id) << " is not in the arena";
  places_[found->second].readers = readers;
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
