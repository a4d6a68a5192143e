// The tail slots of a tier as plain device memory, for the workspace of a prompt. Move-only; gives
// the slots back when it ends. It must not outlive the tier.
#ifndef STRATA_CACHE_TIER_SLOT_LOAN_H_
#define STRATA_CACHE_TIER_SLOT_LOAN_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "strata/core/device_event.h"
#include "strata/core/device_events.h"

namespace strata {

class SlotLoan {
 public:
  using GiveBack = std::function<void(const DeviceEvents& last_uses)>;

  SlotLoan() = default;
  SlotLoan(absl::Span<std::byte> memory, int num_slots, const DeviceEvents& ready_after,
           GiveBack give_back)
      : memory_(memory),
        num_slots_(num_slots),
        ready_after_(ready_after),
        give_back_(std::move(give_back)) {}
  SlotLoan(SlotLoan&& other) noexcept { *this = std::move(other); }
  SlotLoan& operator=(SlotLoan&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(num_slots_, other.num_slots_);
    std::swap(ready_after_, other.ready_after_);
    std::swap(last_uses_, other.last_uses_);
    std::swap(give_back_, other.give_back_);
    return *this;
  }
  ~SlotLoan() {
    if (give_back_) give_back_(last_uses_);
  }

  // Device memory in one piece, from a multiple of 256 bytes on; perhaps of no bytes.
  absl::Span<std::byte> memory() const { return memory_; }
  int num_slots() const { return num_slots_; }
  // Before these, steps that were launched still read the memory, and work of earlier loans still
  // writes it: whatever uses it waits for them, on the device.
  const DeviceEvents& ready_after() const { return ready_after_; }
  // The memory is in use until the event has ended, however early the loan ends. Each call counts,
  // one for each stream that works there; without one the memory is free when the loan ends.
  void ReleaseAfter(DeviceEvent last_use) { last_uses_.Add(std::move(last_use)); }

 private:
  absl::Span<std::byte> memory_;
  int num_slots_ = 0;
  DeviceEvents ready_after_;
  DeviceEvents last_uses_;
  GiveBack give_back_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_LOAN_H_
