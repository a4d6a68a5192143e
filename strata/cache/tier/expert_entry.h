// Where kernels find one expert: an entry of the expert table, as it lies in host memory and in the
// image that kernels of a device read. Plain values, for kernels as well.
#ifndef STRATA_CACHE_TIER_EXPERT_ENTRY_H_
#define STRATA_CACHE_TIER_EXPERT_ENTRY_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace strata {

// What an entry points to. The host forms are those of HostForm.
enum class EntryForm : uint8_t {
  kSlot,
  kRegistered,
  kArena,
  kPageable,
  kStage,  // Nothing that kernels can read: the addresses are null, and the caller stages it.
};
constexpr int kNumEntryForms = 5;

struct ExpertEntry {
  // Of the parts of the blob in their order: gate, up and down, or as the model has them.
  std::array<const std::byte*, 3> parts = {};
  uint32_t generation = 0;  // Counts the changes of where the parts are.
  EntryForm form = EntryForm::kStage;
  // 0: no mark. Otherwise 1 + a landing class: a miss of this step may land in a slot that is
  // offered to that class; see landing.h.
  uint8_t landing = 0;
  friend bool operator==(const ExpertEntry&, const ExpertEntry&) = default;
};
static_assert(sizeof(ExpertEntry) == 32, "kernels read entries of 32 bytes");

// An entry that has changed: the first kernel of a step writes it into the image.
struct TablePatch {
  int32_t number = 0;  // Of the expert.
  int32_t pad = 0;
  ExpertEntry entry;
};
static_assert(sizeof(TablePatch) == 40, "kernels read patches of 40 bytes");

}  // namespace strata

#endif  // STRATA_CACHE_TIER_EXPERT_ENTRY_H_
