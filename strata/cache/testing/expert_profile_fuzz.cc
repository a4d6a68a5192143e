// libFuzzer target: any bytes as a profile, and as the body of one whose checksum is right.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/testing/profile_invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  std::string broken = strata::BrokenProfile(bytes);
  CHECK(broken.empty()) << broken;
  broken = strata::BrokenProfile(strata::ProfileOfBody(bytes));
  CHECK(broken.empty()) << broken;
  return 0;
}
