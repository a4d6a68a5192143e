#include "strata/core/cli/flag_validators.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

bool IsMemorySize(const char* flag, const std::string& value) {
  if (value.empty()) return true;
  if (!IsByteSize(flag, value)) return false;
  constexpr int64_t kLeastBytes = 1 << 20;
  int64_t bare = 0;
  const bool has_unit = !absl::SimpleAtoi(value, &bare);
  return Require(has_unit || bare == 0 || bare >= kLeastBytes,
                 absl::StrCat("is ", bare, " bytes, hardly what is meant: write ", bare, "GiB, or ",
                              bare, "B"));
}

std::string TakeRefusal() { return std::exchange(Refusal(), ""); }

}  // namespace strata
