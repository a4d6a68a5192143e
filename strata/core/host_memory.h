// Host memory for the GPU to read: pinned when the machine allows it, plain memory when not.
//
// Pinned memory is made as one slab: anonymous huge pages, touched by several threads, then
// registered with the driver. Touching pages one by one is what pinning costs: a slab takes about
// 0.05 ms a MiB where a driver's call per 1.5 MiB buffer takes 0.8.
//
// Thread-safe. Device and budget outlive it and all its buffers. Sizes are in bytes.
#ifndef STRATA_CORE_HOST_MEMORY_H_
#define STRATA_CORE_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/host_slab.h"
#include "strata/core/pin_budget.h"

namespace strata {

enum class HostMemoryForm {
  kRegistered,  // Our own slab, registered.
  kDriver,      // Allocated by the driver.
  kPageable,
};
absl::string_view NameOf(HostMemoryForm form);

// Move-only; unpins and frees its memory when it ends. Aligned to a page.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept { *this = std::move(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept;

  absl::Span<std::byte> bytes() const { return bytes_; }
  std::byte* data() const { return bytes_.data(); }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  HostMemoryForm form() const { return form_; }
  bool pinned() const { return form_ != HostMemoryForm::kPageable; }
  // Mapping, touching and pinning together, in milliseconds.
  double pin_ms() const { return pin_ms_; }
  // "48.0 MiB registered in 2.1 ms".
  std::string Describe() const;

 private:
  friend class HostMemory;

  HostMemoryForm form_ = HostMemoryForm::kPageable;
  double pin_ms_ = 0;
  absl::Span<std::byte> bytes_;
  // Ends from the last to the first: unpinned, then unmapped, then given back to the budget.
  PinBudget::Reservation reservation_;
  HostSlab slab_;
  PinnedMemory driver_memory_;
  HostRegistration registration_;
};

class HostMemory {
 public:
  struct Options {
    HostMemoryForm form = HostMemoryForm::kRegistered;  // What is tried first.
    bool huge_pages = true;
    int num_touching_threads = 16;  // Also where there are fewer cores: it costs little.
  };
  struct Request {
    absl::string_view purpose;  // For the log: "stage pool".
    int64_t unit_bytes = 0;     // The buffer is a whole number of units.
    int64_t num_units = 0;
    int64_t min_units = 1;         // Fewer pinned units than this are of no use.
    bool pageable_will_do = true;  // Otherwise an error when not even min_units can be pinned.
  };

  HostMemory(Device& device, PinBudget& budget, const Options& options);
  HostMemory(Device& device, PinBudget& budget) : HostMemory(device, budget, Options()) {}

  // A refusal, by budget or driver, halves the request down to min_units; then all of num_units
  // come as pageable memory. When less was pinned than asked, one line of the log says what, and
  // why. kResourceExhausted when there is no memory at all.
  absl::StatusOr<HostBuffer> Allocate(const Request& request);

  Device& device() const { return device_; }
  PinBudget& budget() const { return budget_; }

 private:
  absl::Status OverBudget() const;
  absl::StatusOr<HostBuffer> Pin(int64_t bytes);
  absl::StatusOr<HostBuffer> PinWithinBudget(int64_t bytes);
  absl::StatusOr<HostBuffer> AllocatePageable(int64_t bytes) const;

  Device& device_;
  PinBudget& budget_;
  const Options options_;
};

}  // namespace strata

#endif  // STRATA_CORE_HOST_MEMORY_H_
