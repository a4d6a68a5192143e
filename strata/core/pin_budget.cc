#include "strata/core/pin_budget.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {

PinBudget::Reservation::~Reservation() {
  if (budget_ != nullptr) budget_->GiveBack(bytes_);
}

PinBudget::PinBudget(int64_t limit_bytes, std::string origin)
    : limit_bytes_(limit_bytes), origin_(std::move(origin)) {
  CHECK_GE(limit_bytes, 0);
}

PinBudget::~PinBudget() { CHECK_EQ(reserved_bytes(), 0) << "pinned memory outlives its budget"; }

std::optional<PinBudget::Reservation> PinBudget::TryReserve(int64_t bytes) {
  CHECK_GE(bytes, 0);
  MutexLock lock(&mutex_);
  if (bytes > limit_bytes_ - reserved_bytes_) return std::nullopt;
  reserved_bytes_ += bytes;
  return Reservation(this, bytes);
}

int64_t PinBudget::reserved_bytes() const {
  MutexLock lock(&mutex_);
  return reserved_bytes_;
}

void PinBudget::GiveBack(int64_t bytes) {
  MutexLock lock(&mutex_);
  reserved_bytes_ -= bytes;
}

}  // namespace strata
