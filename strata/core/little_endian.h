// Numbers and bytes of the binary files that we write (docs/formats.md): little-endian, without
// padding.
//
// Thread-compatible.
#ifndef STRATA_CORE_LITTLE_ENDIAN_H_
#define STRATA_CORE_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

class LittleEndianWriter {
 public:
  template <typename T>
  LittleEndianWriter& Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* const begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
    return *this;
  }
  // Seven bits a byte, the lowest first; the top bit says that more follow.
  LittleEndianWriter& Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Number(static_cast<uint8_t>(value | 0x80));
    return Number(static_cast<uint8_t>(value));
  }
  LittleEndianWriter& Raw(absl::Span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  LittleEndianWriter& Raw(absl::string_view text) {
    return Raw(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()));
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  // Keeps the memory.
  void Clear() { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what LittleEndianWriter wrote. Past the end every value is 0 and empty, and failed() is
// true from then on: one question after many reads is enough. The bytes are borrowed.
class LittleEndianReader {
 public:
  explicit LittleEndianReader(absl::Span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    const absl::Span<const std::byte> raw = Raw(sizeof value);
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  // Fails also for what no writer makes: more than 64 bits, or zeros at the end.
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = Number<uint8_t>();
      const uint64_t bits = byte & 0x7f;
      if ((shift == 63 && bits > 1) || (shift > 0 && byte == 0)) break;
      value |= bits << shift;
      if (byte < 0x80) return failed_ ? 0 : value;
    }
    failed_ = true;
    return 0;
  }
  absl::Span<const std::byte> Raw(uint64_t num_bytes) {
    if (failed_ || num_bytes > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const absl::Span<const std::byte> raw = bytes_.first(num_bytes);
    bytes_.remove_prefix(num_bytes);
    return raw;
  }
  absl::string_view Text(uint64_t num_bytes) {
    const absl::Span<const std::byte> raw = Raw(num_bytes);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

  bool failed() const { return failed_; }
  uint64_t bytes_left() const { return bytes_.size(); }

 private:
  absl::Span<const std::byte> bytes_;
  bool failed_ = false;
};

}  // namespace strata

#endif  // STRATA_CORE_LITTLE_ENDIAN_H_
