// Device memory for experts: one arena cut into slots as a SlotPlan says, the state of each slot,
// and which expert is where.
//
//   empty --StartCopy--> copying --EndCopy--> resident --StartDraining--> draining --StartCopy-->
//     ^  ^------------------'  the copy failed                               |
//     |                                                     Lend (empty too) v
//     '------------------------------- TakeBack ---------------------------- lent
//
//   empty --Offer--> offered --Land--> copying        draining --EndDraining--> empty
//     ^-----Withdraw----'
//
// A slot is offered to a step that was begun: its kernels may store a missed expert there. The
// step's result says which have landed: these are shown, or not, as copies are; the others are
// empty again. A slot drains while its expert's table entry points elsewhere already, and steps that were
// launched before may still read it: what is copied there waits for their event. An expert is in
// one slot at most, and each transition is checked, so it has one operation at a time.
//
// Moves no bytes. Used by the decode thread alone; memory addresses are fixed. The device outlives
// it. Sizes are in bytes.
#ifndef STRATA_CACHE_TIER_SLOT_CACHE_H_
#define STRATA_CACHE_TIER_SLOT_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/core/device.h"

namespace strata {

enum class SlotState { kEmpty, kCopying, kResident, kDraining, kLent, kOffered };
constexpr int kNumSlotStates = 6;
absl::string_view NameOf(SlotState state);

class SlotCache {
 public:
  static constexpr int kNone = -1;  // No slot, no expert.

  // As many slots of the plan, from the first on, as the device has memory for, perhaps none; one
  // line of the log says so when they are fewer than planned. So many bytes of the device's memory
  // stay free beside them, measured when the slots have theirs, since others take memory as well.
  // `num_experts` is the geometry's size.
  static std::unique_ptr<SlotCache> Create(const SlotPlan& plan, int num_experts, Device& device,
                                           int64_t free_bytes = 0);

  // What came of it.
  const SlotPlan& plan() const { return plan_; }
  int num_slots() const { return plan_.num_slots(); }
  const DeviceMemory& memory() const { return memory_; }

  std::byte* data(int slot) const { return memory_.data() + plan_.OffsetOf(slot); }
  SlotState state(int slot) const { return slots_[slot].state; }
  // The expert that the slot holds or receives.
  int expert(int slot) const { return slots_[slot].expert; }
  // The slot that holds or receives the expert.
  int SlotOf(int expert) const { return slot_of_[expert]; }
  bool IsResident(int expert) const {
    return slot_of_[expert] != kNone && state(slot_of_[expert]) == SlotState::kResident;
  }
  int NumIn(SlotState state) const { return num_in_[static_cast<int>(state)]; }
  // By size class.
  absl::Span<const int> num_empty() const { return num_empty_; }
  // The first empty slot of a size class, beyond those that are kept.
  int FindEmpty(int size_class);
  // So many empty slots of the size class are kept to be offered: FindEmpty leaves them.
  void Keep(int size_class, int num_slots) { num_kept_[size_class] = num_slots; }
  // The empty slots of the size class that lie first, at most so many, into `slots`.
  void FindEmptySlots(int size_class, int most, std::vector<int>& slots) const;

  // The expert will be copied into a slot that is empty or draining.
  void StartCopy(int slot, int expert);
  // The copy has ended; when it failed the slot is empty.
  void EndCopy(int slot, bool copied);
  // The resident expert's entry points elsewhere.
  void StartDraining(int slot);
  // Nothing but steps that were launched before uses the slot, and whatever comes there waits for
  // them.
  void EndDraining(int slot);
  // To the step that begins, which may write there.
  void Offer(int slot);
  // The step has ended: nothing has landed in the slot,
  void Withdraw(int slot);
  // or the expert has.
  void Land(int slot, int expert);
  // An empty or draining slot serves as plain memory until TakeBack makes it empty.
  void Lend(int slot);
  void TakeBack(int slot);

 private:
  struct Slot {
    SlotState state = SlotState::kEmpty;
    int expert = kNone;
  };

  SlotCache(SlotPlan plan, int num_experts, DeviceMemory memory);
  void SetState(int slot, SlotState state);
  void Forget(int slot);

  const SlotPlan plan_;
  const DeviceMemory memory_;
  std::vector<Slot> slots_;
  std::vector<int> slot_of_;  // By expert.
  std::array<int, kNumSlotStates> num_in_ = {};
  std::vector<int> num_empty_;    // By size class.
  std::vector<int> num_kept_;     // By size class.
  std::vector<int> first_empty_;  // By size class: no slot before it is empty.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_CACHE_H_
