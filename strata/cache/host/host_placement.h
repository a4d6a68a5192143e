// Where a model's experts lie in host memory, chosen once at start:
//
//   registered  pinned in the mapped file itself, hottest first, within the pin budget
//   arena       pinned copies of what no slot holds and no window has, with spare places for
//               experts that leave their slots
//   stage       read into a leased stage when it is used
//   pageable    the plain mapping, where a device can read that (the CPU can)
//
// kAuto takes them in this order on a GPU, each for what the one before could not hold. A device
// that reads pageable memory has no use for pins: there kAuto is kPageable. Another choice is that
// form alone; experts that it cannot hold go through stages. No choice fails because a pin was
// refused: the log says what was got instead.
//
// Owns all that it makes. Thread-safe after Create. Files and device outlive it. Sizes are in
// bytes.
#ifndef STRATA_CACHE_HOST_HOST_PLACEMENT_H_
#define STRATA_CACHE_HOST_HOST_PLACEMENT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {

class HostPlacement {
 public:
  enum class Choice { kAuto, kRegistered, kArena, kStage, kPageable };
  // What --expert_source takes: "auto", "registered", "arena", "stage", "pageable".
  static std::optional<Choice> ParseChoice(absl::string_view name);

  struct Options {
    Choice choice = Choice::kAuto;
    bool may_use_arena = true;
    // Of the arena, spare places included.
    int64_t max_arena_bytes = std::numeric_limits<int64_t>::max();
    int num_spare_places = 0;
    std::optional<int64_t> pin_budget = {};  // Empty: what the machine allows.
    int num_stages = 32;
    bool pinned_stages = true;
  };

  // `hottest_first` are all experts; `resident` those of them that slots will hold. An error is a
  // file's, or kResourceExhausted when there is no memory at all.
  static absl::StatusOr<std::unique_ptr<HostPlacement>> Create(
      const Options& options, const ExpertFiles& files, Device& device,
      absl::Span<const ExpertId> hottest_first, absl::Span<const ExpertId> resident);

  ExpertSource& source() { return *source_; }
  StagePool& stages() { return *stages_; }
  // Null when there is none.
  PinnedArena* arena() { return arena_.get(); }

  // Whether an expert that is not pinned is read into a stage before it is used, rather than where
  // it lies in the mapping.
  bool stages_unpinned() const { return stages_unpinned_; }

  // Now, of windows, arena and stages together.
  int64_t pinned_bytes() const { return budget_.reserved_bytes(); }
  // Spent on windows, arena and stages at start.
  double pin_ms() const { return pin_ms_; }
  // "384 experts pinned in the file (39.0 MiB), 96 in the arena (9.8 MiB), 32 through 32 stages".
  std::string Describe() const;

 private:
  HostPlacement(const Options& options, const ExpertFiles& files, Device& device);

  absl::Status PlaceStages();
  absl::Status PlaceExperts(absl::Span<const ExpertId> hottest_first,
                            absl::Span<const ExpertId> resident);
  absl::Status FillArena(absl::Span<const ExpertId> hottest_first);
  bool UsesRegistration() const;
  bool UsesArena() const;

  const Options options_;
  const ExpertFiles& files_;
  Device& device_;
  PinBudget budget_;
  HostMemory memory_;
  BlobReader reader_;
  const bool stages_unpinned_;
  std::unique_ptr<StagePool> stages_;
  std::unique_ptr<RegisteredExperts> registered_;
  std::unique_ptr<PinnedArena> arena_;
  std::unique_ptr<ExpertSource> source_;
  double pin_ms_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_HOST_HOST_PLACEMENT_H_
