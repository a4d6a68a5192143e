#include "strata/cache/tier/slot_cache.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/core/device.h"

namespace strata {

absl::string_view NameOf(SlotState state) {
  constexpr absl::string_view kNames[kNumSlotStates] = {"empty",    "copying", "resident",
                                                        "draining", "lent",    "offered"};
  return kNames[static_cast<int>(state)];
}

namespace {

// Bytes that are free now, and those that should be: the difference, if that is too little.
int64_t MissingBytes(Device& device, int64_t free_bytes) {
  if (free_bytes == 0) return 0;
  const absl::StatusOr<DeviceMemoryInfo> memory = device.GetMemoryInfo();
  if (!memory.ok()) {
    device.ClearError();
    return 0;
  }
  return std::max<int64_t>(0, free_bytes - memory->free_bytes);
}

// Without so many of its last slots that they hold these bytes.
SlotPlan Without(const SlotPlan& plan, int64_t bytes) {
  int num_slots = plan.num_slots() - 1;
  while (num_slots > 0 && plan.OffsetOf(num_slots) > plan.bytes() - bytes) --num_slots;
  return plan.Prefix(num_slots);
}

}  // namespace

std::unique_ptr<SlotCache> SlotCache::Create(const SlotPlan& plan, int num_experts, Device& device,
                                             int64_t free_bytes) {
  SlotPlan had = plan;
  DeviceMemory memory;
  absl::Status refusal;
  while (had.num_slots() > 0) {
    absl::StatusOr<DeviceMemory> allocated = device.Allocate(had.bytes());
    if (allocated.ok()) {
      const int64_t missing = MissingBytes(device, free_bytes);
      if (missing == 0) {
        memory = *std::move(allocated);
        break;
      }
      if (refusal.ok()) {
        refusal = absl::ResourceExhaustedError(absl::StrCat("they left ", missing,
                                                            " bytes too few of the ", free_bytes,
                                                            " that stay free for others"));
      }
      had = Without(had, missing);
      continue;
    }
    device.ClearError();
    if (refusal.ok()) refusal = allocated.status();
    // Free memory is in pieces, so what is said to be free need not be had: less and less, by an
    // eighth.
    had = had.Prefix(had.num_slots() - (had.num_slots() + 7) / 8);
  }
  if (!refusal.ok()) {
    LOG(WARNING) << "expert cache: " << had.Describe() << " instead of " << plan.Describe() << ": "
                 << refusal.message();
  }
  return std::unique_ptr<SlotCache>(new SlotCache(std::move(had), num_experts, std::move(memory)));
}

SlotCache::SlotCache(SlotPlan plan, int num_experts, DeviceMemory memory)
    : plan_(std::move(plan)),
      memory_(std::move(memory)),
      slots_(plan_.num_slots()),
      slot_of_(num_experts, kNone),
      num_empty_(plan_.class_bytes().size(), 0),
      num_kept_(plan_.class_bytes().size(), 0),
      first_empty_(plan_.class_bytes().size(), 0) {
  num_in_[static_cast<int>(SlotState::kEmpty)] = num_slots();
  for (int slot = 0; slot < num_slots(); ++slot) ++num_empty_[plan_.ClassOfSlot(slot)];
}

int SlotCache::FindEmpty(int size_class) {
  if (num_empty_[size_class] <= num_kept_[size_class]) return kNone;
  int& slot = first_empty_[size_class];
  while (state(slot) != SlotState::kEmpty || plan_.ClassOfSlot(slot) != size_class) ++slot;
  return slot;
}

void SlotCache::FindEmptySlots(int size_class, int most, std::vector<int>& slots) const {
  slots.clear();
  most = std::min(most, num_empty_[size_class]);
  for (int slot = first_empty_[size_class]; std::ssize(slots) < most; ++slot) {
    if (state(slot) == SlotState::kEmpty && plan_.ClassOfSlot(slot) == size_class) {
      slots.push_back(slot);
    }
  }
}

void SlotCache::StartCopy(int slot, int expert) {
  CHECK(state(slot) == SlotState::kEmpty || state(slot) == SlotState::kDraining)
      << "slot " << slot << " is " << NameOf(state(slot));
  CHECK_EQ(slot_of_[expert], kNone) << "expert " << expert << " has a slot already";
  Forget(slot);
  slots_[slot].expert = expert;
  slot_of_[expert] = slot;
  SetState(slot, SlotState::kCopying);
}

void SlotCache::EndCopy(int slot, bool copied) {
  CHECK(state(slot) == SlotState::kCopying) << "slot " << slot << " is " << NameOf(state(slot));
  if (!copied) Forget(slot);
  SetState(slot, copied ? SlotState::kResident : SlotState::kEmpty);
}

void SlotCache::StartDraining(int slot) {
  CHECK(state(slot) == SlotState::kResident) << "slot " << slot << " is " << NameOf(state(slot));
  Forget(slot);
  SetState(slot, SlotState::kDraining);
}

void SlotCache::EndDraining(int slot) {
  CHECK(state(slot) == SlotState::kDraining) << "slot " << slot << " is " << NameOf(state(slot));
  SetState(slot, SlotState::kEmpty);
}

void SlotCache::Offer(int slot) {
  CHECK(state(slot) == SlotState::kEmpty) << "slot " << slot << " is " << NameOf(state(slot));
  SetState(slot, SlotState::kOffered);
}

void SlotCache::Withdraw(int slot) {
  CHECK(state(slot) == SlotState::kOffered) << "slot " << slot << " is " << NameOf(state(slot));
  SetState(slot, SlotState::kEmpty);
}

void SlotCache::Land(int slot, int expert) {
  CHECK(state(slot) == SlotState::kOffered) << "slot " << slot << " is " << NameOf(state(slot));
  CHECK_EQ(slot_of_[expert], kNone) << "expert " << expert << " has a slot already";
  slots_[slot].expert = expert;
  slot_of_[expert] = slot;
  SetState(slot, SlotState::kCopying);
}

void SlotCache::Lend(int slot) {
  CHECK(state(slot) == SlotState::kEmpty || state(slot) == SlotState::kDraining)
      << "slot " << slot << " is " << NameOf(state(slot));
  SetState(slot, SlotState::kLent);
}

void SlotCache::TakeBack(int slot) {
  CHECK(state(slot) == SlotState::kLent) << "slot " << slot << " is " << NameOf(state(slot));
  SetState(slot, SlotState::kEmpty);
}

void SlotCache::Forget(int slot) {
  int& expert = slots_[slot].expert;
  if (expert != kNone) slot_of_[expert] = kNone;
  expert = kNone;
}

void SlotCache::SetState(int slot, SlotState state) {
  const int size_class = plan_.ClassOfSlot(slot);
  SlotState& old = slots_[slot].state;
  --num_in_[static_cast<int>(old)];
  ++num_in_[static_cast<int>(state)];
  if (old == SlotState::kEmpty) --num_empty_[size_class];
  if (state == SlotState::kEmpty) {
    ++num_empty_[size_class];
    first_empty_[size_class] = std::min(first_empty_[size_class], slot);
  }
  old = state;
}

}  // namespace strata
