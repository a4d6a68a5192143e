// The tail slots of a tier as plain device memory, for the workspace of a prompt. Move-only; gives
// the slots back when it ends. It must not outlive the tier.
#ifndef STRATA_CACHE_TIER_SLOT_LOAN_H_
#define STRATA_CACHE_TIER_SLOT_LOAN_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "strata/core/device_event.h"

namespace strata {

class SlotLoan {
 public:
  using GiveBack = std::function<void(DeviceEvent last_use)>;

  SlotLoan() = default;
  SlotLoan(absl::Span<std::byte> memory, int num_slots, DeviceEvent ready_after, GiveBack give_back)
      : memory_(memory),
        num_slots_(num_slots),
        ready_after_(std::move(ready_after)),
        give_back_(std::move(give_back)) {}
  SlotLoan(SlotLoan&& other) noexcept { *this = std::move(other); }
  SlotLoan& operator=(SlotLoan&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(num_slots_, other.num_slots_);
    std::swap(ready_after_, other.ready_after_);
    std::swap(last_use_, other.last_use_);
    std::swap(give_back_, other.give_back_);
    return *this;
  }
  ~SlotLoan() {
    if (give_back_) give_back_(std::move(last_use_));
  }

  // Device memory in one piece, from a multiple of 256 bytes on; perhaps of no bytes.
  absl::Span<std::byte> memory() const { return memory_; }
  int num_slots() const { return num_slots_; }
  // Steps launched before it still read the memory: work on another stream than theirs waits.
  const DeviceEvent& ready_after() const { return ready_after_; }
  // The memory is in use until the event has ended, however early the loan ends. The last call
  // counts; without one the memory is free when the loan ends.
  void ReleaseAfter(DeviceEvent last_use) { last_use_ = std::move(last_use); }

 private:
  absl::Span<std::byte> memory_;
  int num_slots_ = 0;
  DeviceEvent ready_after_;
  DeviceEvent last_use_;
  GiveBack give_back_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_LOAN_H_
