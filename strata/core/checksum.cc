#include "strata/core/checksum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {
namespace {

Checksum FromHash(XXH128_hash_t hash) { return {.low = hash.low64, .high = hash.high64}; }

}  // namespace

std::string Checksum::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

std::optional<Checksum> Checksum::FromHex(absl::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  uint64_t words[2] = {};
  for (size_t i = 0; i < hex.size(); ++i) {
    const char digit = hex[i];
    const bool is_decimal = '0' <= digit && digit <= '9';
    if (!is_decimal && !('a' <= digit && digit <= 'f')) return std::nullopt;
    uint64_t& word = words[i / 16];
    word = word << 4 | static_cast<uint64_t>(is_decimal ? digit - '0' : digit - 'a' + 10);
  }
  return Checksum{.low = words[1], .high = words[0]};
}

std::array<std::byte, 16> Checksum::ToBytes() const {
  std::array<std::byte, 16> bytes;
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::byte>(low >> (56 - 8 * i));
  }
  return bytes;
}

Checksum ChecksumOf(absl::Span<const std::byte> bytes) {
  return FromHash(XXH3_128bits(bytes.data(), bytes.size()));
}

Checksum ChecksumBuilder::Finish() const { return FromHash(XXH3_128bits_digest(&state_)); }

}  // namespace strata
