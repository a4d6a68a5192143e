// One run of anonymous memory, aligned to 2 MiB so that the kernel can back it with huge pages.
//
// Move-only; unmapped when it ends.
#ifndef STRATA_CORE_HOST_SLAB_H_
#define STRATA_CORE_HOST_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace strata {

class HostSlab {
 public:
  HostSlab() = default;
  HostSlab(HostSlab&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  HostSlab& operator=(HostSlab&& other) noexcept {
    HostSlab taken(std::move(other));
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~HostSlab();

  // At least `bytes` (rounded up to whole pages), all zero. kResourceExhausted if the system
  // refuses.
  static absl::StatusOr<HostSlab> Map(int64_t bytes, bool huge_pages);

  absl::Span<std::byte> bytes() const { return bytes_; }
  // Makes every page present, with this many threads: the first touch of a page is what costs.
  void Touch(int num_threads) const;

 private:
  explicit HostSlab(absl::Span<std::byte> bytes) : bytes_(bytes) {}

  absl::Span<std::byte> bytes_;
};

}  // namespace strata

#endif  // STRATA_CORE_HOST_SLAB_H_
