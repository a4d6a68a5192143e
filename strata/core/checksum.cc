#include "strata/core/checksum.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"

namespace strata {
namespace {

Checksum FromHash(XXH128_hash_t hash) { return {.low = hash.low64, .high = hash.high64}; }

}  // namespace

std::string Checksum::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

Checksum ChecksumOf(absl::Span<const std::byte> bytes) {
  return FromHash(XXH3_128bits(bytes.data(), bytes.size()));
}

Checksum ChecksumBuilder::Finish() const { return FromHash(XXH3_128bits_digest(&state_)); }

}  // namespace strata
