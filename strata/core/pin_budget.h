// How much host memory may be pinned, shared by everything that pins: stages, arenas, registered
// windows of files (their page cache is pinned as well, and a container is charged for it for
// good).
//
// Thread-safe; outlives its reservations. Sizes are in bytes.
#ifndef STRATA_CORE_PIN_BUDGET_H_
#define STRATA_CORE_PIN_BUDGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "strata/core/mutex.h"

namespace strata {

class PinBudget {
 public:
  // Move-only; gives the bytes back when it ends.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      Reservation taken(std::move(other));
      std::swap(budget_, taken.budget_);
      std::swap(bytes_, taken.bytes_);
      return *this;
    }
    ~Reservation();
    int64_t bytes() const { return bytes_; }

   private:
    friend class PinBudget;
    Reservation(PinBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}

    PinBudget* budget_ = nullptr;
    int64_t bytes_ = 0;
  };

  // `origin` says in a few words where the limit comes from, for messages.
  PinBudget(int64_t limit_bytes, std::string origin);
  ~PinBudget();
  PinBudget(const PinBudget&) = delete;
  PinBudget& operator=(const PinBudget&) = delete;

  // Empty when fewer bytes are left.
  std::optional<Reservation> TryReserve(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t limit_bytes() const { return limit_bytes_; }
  const std::string& origin() const { return origin_; }
  int64_t reserved_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t available_bytes() const { return limit_bytes_ - reserved_bytes(); }

 private:
  void GiveBack(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t limit_bytes_;
  const std::string origin_;
  mutable Mutex mutex_;
  int64_t reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace strata

#endif  // STRATA_CORE_PIN_BUDGET_H_
