// XXH3-128 (xxHash, https://github.com/Cyan4973/xxHash), the checksum of blobs, slots and of the
// files that we write.
#ifndef STRATA_CORE_CHECKSUM_H_
#define STRATA_CORE_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The state's size is known only to those who ask for it.
#define XXH_STATIC_LINKING_ONLY
#include "xxhash.h"

namespace strata {

struct Checksum {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;
  // 32 hexadecimal digits, as xxh128sum prints them.
  std::string ToHex() const;
  // What ToHex prints; empty for any other text.
  static std::optional<Checksum> FromHex(absl::string_view hex);
  // Its canonical bytes, in the order of the digits.
  std::array<std::byte, 16> ToBytes() const;
};

Checksum ChecksumOf(absl::Span<const std::byte> bytes);

// Of bytes that come in parts: the checksum is that of the parts one after the other.
class ChecksumBuilder {
 public:
  ChecksumBuilder() { XXH3_128bits_reset(&state_); }
  void Add(absl::Span<const std::byte> bytes) {
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
  }
  Checksum Finish() const;

 private:
  XXH3_state_t state_;
};

}  // namespace strata

#endif  // STRATA_CORE_CHECKSUM_H_
