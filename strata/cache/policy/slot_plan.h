// Which experts the slots of a cache hold at first, and how large each slot is: a pure function of
// the geometry, a budget and a ranking, the same for the engine and for `gguf_inspect --plan`.
//
// Slot i is as large as the blob of experts()[i], and slots follow each other in device memory
// without a gap, so the plan takes the sum of its experts' blobs. Hotter experts come first: the
// tail, which prompts may borrow, is the coldest. A slot holds any expert of its size class, which
// is a distinct blob size.
//
// Immutable. Sizes are in bytes.
#ifndef STRATA_CACHE_POLICY_SLOT_PLAN_H_
#define STRATA_CACHE_POLICY_SLOT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {

// How much the cache may hold.
struct SlotBudget {
  enum class Unit { kSlots, kPercent, kBytes };
  Unit unit = Unit::kSlots;
  double amount = 0;  // Percent of all experts; slots and bytes are whole numbers. Not negative.

  static SlotBudget Slots(int64_t n) { return {Unit::kSlots, static_cast<double>(n)}; }
  static SlotBudget Percent(double percent) { return {Unit::kPercent, percent}; }
  static SlotBudget Bytes(int64_t bytes) { return {Unit::kBytes, static_cast<double>(bytes)}; }

  // "120", "25%", or a size with a unit as ParseByteSize takes it; an error is the command line's.
  static absl::StatusOr<SlotBudget> Parse(absl::string_view text);
};

class SlotPlan {
 public:
  SlotPlan() = default;
  // As many experts as the budget allows: of slots and percent the first of the ranking, of bytes
  // each that still fits. `hottest_first` holds numbers of the geometry, none twice; the experts
  // that it lacks follow in the order of DefaultRanking.
  SlotPlan(const ExpertGeometry& geometry, const SlotBudget& budget,
           absl::Span<const int> hottest_first);

  // A ranking that knows nothing: expert 0 of every layer, then expert 1, and so on.
  static std::vector<int> DefaultRanking(const ExpertGeometry& geometry);
  // The same experts, hottest first; those that `hottest_first` lacks come after it.
  static std::vector<int> CompleteRanking(const ExpertGeometry& geometry,
                                          absl::Span<const int> hottest_first);

  int num_slots() const { return static_cast<int>(experts_.size()); }
  // The expert that fills each slot at first.
  absl::Span<const int> experts() const { return experts_; }
  int64_t SlotBytes(int slot) const { return class_bytes_[class_of_slot_[slot]]; }
  // Where the slot begins in the cache's memory.
  int64_t OffsetOf(int slot) const { return offsets_[slot]; }
  int64_t bytes() const { return bytes_; }

  // Size classes by ascending size, those without slots as well.
  absl::Span<const int64_t> class_bytes() const { return class_bytes_; }
  int ClassOfSlot(int slot) const { return class_of_slot_[slot]; }

  // The first `num_slots` slots of this plan.
  SlotPlan Prefix(int num_slots) const;

  // "96 slots, 48.0 MiB in all,", for what follows.
  std::string Describe() const;

 private:
  void Add(int expert, int64_t blob_bytes);

  std::vector<int64_t> class_bytes_;
  std::vector<int> experts_;
  std::vector<int> class_of_slot_;
  std::vector<int64_t> offsets_;
  int64_t bytes_ = 0;
};

// The distinct blob sizes of a geometry, ascending, and the index of one among them.
std::vector<int64_t> SizeClassesOf(const ExpertGeometry& geometry);
int SizeClassOf(absl::Span<const int64_t> class_bytes, int64_t blob_bytes);

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_SLOT_PLAN_H_
