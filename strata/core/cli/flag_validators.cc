#include "strata/core/cli/flag_validators.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "strata/core/cli/byte_size.h"

namespace strata {
namespace {

// gflags has no way to hand it on.
std::string& Refusal() {
  static auto* const refusal = new std::string;
  return *refusal;
}

bool Require(bool fits, const std::string& rule) {
  if (!fits) Refusal() = rule;
  return fits;
}

}  // namespace

bool IsPositive(const char*, int32_t value) { return Require(value > 0, "must be 1 or more"); }

bool IsNotNegative(const char*, int32_t value) {
  return Require(value >= 0, "must not be negative");
}

bool IsByteSize(const char*, const std::string& value) {
  if (value.empty()) return true;
  const absl::StatusOr<int64_t> bytes = ParseByteSize(value);
  return Require(bytes.ok(), "must be a size such as 12GiB, 512MiB or 4096");
}

std::string TakeRefusal() { return std::exchange(Refusal(), ""); }

}  // namespace strata
