#include "strata/core/cli/flag_validators.h"

#include <cstdint>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "strata/core/cli/byte_size.h"

namespace strata {
namespace {

bool Require(bool fits, const char* flag, const std::string& rule) {
  if (!fits) std::cerr << "--" << flag << " " << rule << std::endl;
  return fits;
}

}  // namespace

bool IsPositive(const char* flag, int32_t value) {
  return Require(value > 0, flag, "must be 1 or more");
}

bool IsNotNegative(const char* flag, int32_t value) {
  return Require(value >= 0, flag, "must not be negative");
}

bool IsByteSize(const char* flag, const std::string& value) {
  if (value.empty()) return true;
  const absl::StatusOr<int64_t> bytes = ParseByteSize(value);
  return Require(bytes.ok(), flag, "must be a size such as 12GiB, 512MiB or 4096");
}

}  // namespace strata
