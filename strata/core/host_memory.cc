#include "strata/core/host_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/device.h"
#include "strata/core/host_slab.h"
#include "strata/core/pin_budget.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

double Mib(int64_t bytes) { return bytes / 1048576.0; }

}  // namespace

absl::string_view NameOf(HostMemoryForm form) {
  switch (form) {
    case HostMemoryForm::kRegistered:
      return "registered";
    case HostMemoryForm::kDriver:
      return "allocated by the driver";
    case HostMemoryForm::kPageable:
      return "pageable";
  }
  return "";
}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  form_ = other.form_;
  pin_ms_ = other.pin_ms_;
  bytes_ = std::exchange(other.bytes_, {});
  // What this buffer held ends in the order that its destructor keeps.
  registration_ = std::move(other.registration_);
  driver_memory_ = std::move(other.driver_memory_);
  slab_ = std::move(other.slab_);
  reservation_ = std::move(other.reservation_);
  return *this;
}

std::string HostBuffer::Describe() const {
  return absl::StrFormat("%.1f MiB %s in %.1f ms", Mib(size()), NameOf(form_), pin_ms_);
}

HostMemory::HostMemory(Device& device, PinBudget& budget, const Options& options)
    : device_(device), budget_(budget), options_(options) {}

absl::StatusOr<HostBuffer> HostMemory::Allocate(const Request& request) {
  CHECK_GT(request.unit_bytes, 0);
  CHECK_GE(request.num_units, request.min_units);
  CHECK_GE(request.min_units, 1);
  const int64_t all_bytes = request.num_units * request.unit_bytes;
  if (options_.form == HostMemoryForm::kPageable) {
    if (request.pageable_will_do) return AllocatePageable(all_bytes);
    return absl::ResourceExhaustedError("pinned memory is switched off");
  }
  // No need to search for what the budget allows: it says so.
  const int64_t affordable = budget_.available_bytes() / request.unit_bytes;
  int64_t num_units = std::clamp(affordable, request.min_units, request.num_units);
  absl::Status refusal = num_units < request.num_units ? OverBudget() : absl::OkStatus();
  while (true) {
    absl::StatusOr<HostBuffer> pinned = Pin(num_units * request.unit_bytes);
    if (pinned.ok() && refusal.ok()) return pinned;
    if (pinned.ok()) {
      LOG(WARNING) << absl::StrFormat("%s: asked for %.1f MiB of pinned memory, got %s: %s",
                                      request.purpose, Mib(all_bytes), pinned->Describe(),
                                      refusal.message());
      return pinned;
    }
    if (refusal.ok()) refusal = pinned.status();
    if (num_units == request.min_units) break;
    num_units = std::max(num_units / 2, request.min_units);
  }
  if (!request.pageable_will_do) return refusal;
  LOG(WARNING) << absl::StrFormat(
      "%s: asked for %.1f MiB of pinned memory, got pageable memory, which is slower: %s",
      request.purpose, Mib(all_bytes), refusal.message());
  return AllocatePageable(all_bytes);
}

absl::Status HostMemory::OverBudget() const {
  return absl::ResourceExhaustedError(absl::StrFormat(
      "the pin budget of %.1f MiB (%s) has %.1f MiB left", Mib(budget_.limit_bytes()),
      budget_.origin(), Mib(budget_.available_bytes())));
}

absl::StatusOr<HostBuffer> HostMemory::Pin(int64_t bytes) {
  std::optional<PinBudget::Reservation> reservation = budget_.TryReserve(bytes);
  if (!reservation.has_value()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the pin budget of %.1f MiB (%s) has %.1f MiB left", Mib(budget_.limit_bytes()),
        budget_.origin(), Mib(budget_.available_bytes())));
  }
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<HostBuffer> buffer = PinWithinBudget(bytes);
  if (!buffer.ok()) {
    // The refusal is handled here; left alone it would surface in somebody else's call.
    device_.ClearError();
    return buffer;
  }
  buffer->reservation_ = *std::move(reservation);
  buffer->pin_ms_ =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return buffer;
}

absl::StatusOr<HostBuffer> HostMemory::PinWithinBudget(int64_t bytes) {
  HostBuffer buffer;
  buffer.form_ = options_.form;
  if (options_.form == HostMemoryForm::kDriver) {
    ASSIGN_OR_RETURN(buffer.driver_memory_, device_.AllocatePinned(bytes));
    buffer.bytes_ = absl::MakeSpan(buffer.driver_memory_.data(), bytes);
    return buffer;
  }
  ASSIGN_OR_RETURN(buffer.slab_, HostSlab::Map(bytes, options_.huge_pages));
  buffer.slab_.Touch(options_.num_touching_threads);
  ASSIGN_OR_RETURN(buffer.registration_, device_.Register(buffer.slab_.bytes()));
  buffer.bytes_ = buffer.slab_.bytes().subspan(0, bytes);
  return buffer;
}

absl::StatusOr<HostBuffer> HostMemory::AllocatePageable(int64_t bytes) const {
  HostBuffer buffer;
  ASSIGN_OR_RETURN(buffer.slab_, HostSlab::Map(bytes, options_.huge_pages));
  buffer.bytes_ = buffer.slab_.bytes().subspan(0, bytes);
  return buffer;
}

}  // namespace strata
