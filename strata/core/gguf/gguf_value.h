// Metadata values of a GGUF file: views of validated header bytes.
//
// Layout and type ids: the GGUF specification (ggml docs/gguf.md), versions 2 and 3; numbers are
// little-endian. A view is made by GgufHeader alone, of bytes that it has checked, and is valid as
// long as those are.
#ifndef STRATA_CORE_GGUF_GGUF_VALUE_H_
#define STRATA_CORE_GGUF_GGUF_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

bool IsGgufType(uint32_t id);
// True for the eight integer types; bool is none.
bool IsInteger(GgufType type);
// Bytes of a value; 0 for strings and arrays, which have no fixed size.
int WidthOf(GgufType type);
// "u8", "i8", ... "f32", "bool", "str", "arr", "u64", "i64", "f64".
absl::string_view NameOf(GgufType type);

class GgufArray;

// Small; pass by value.
class GgufValue {
 public:
  // `data` is the value's first byte, after its type.
  GgufValue(GgufType type, const std::byte* data) : type_(type), data_(data) {}

  GgufType type() const { return type_; }

  // Each is empty when the value is of another kind. Integers come from any integer type (not bool)
  // that holds the value; AsDouble takes f32 and f64 only.
  std::optional<uint64_t> AsUint() const;
  std::optional<int64_t> AsInt() const;
  std::optional<double> AsDouble() const;
  std::optional<bool> AsBool() const;
  std::optional<absl::string_view> AsString() const;  // Bytes as stored; need not be UTF-8.
  std::optional<GgufArray> AsArray() const;

  // The byte after the value's last.
  const std::byte* end() const;

 private:
  GgufType type_;
  const std::byte* data_;
};

// Elements are read in order, since strings and nested arrays have no fixed size:
//   const GgufArray array = *value.AsArray();  // Named: the loop keeps no temporary alive.
//   for (const GgufValue element : array) ...
// Small; pass by value.
class GgufArray {
 public:
  // Bytes before the elements: u32 element type, u64 count.
  static constexpr int kHeadBytes = 12;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = GgufValue;
    using difference_type = std::ptrdiff_t;
    using pointer = const GgufValue*;
    using reference = GgufValue;

    Iterator(GgufValue element, int64_t left) : element_(element), left_(left) {}
    GgufValue operator*() const { return element_; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    GgufValue element_;  // Past the last one nothing is read.
    int64_t left_;
  };

  // `data` is the first byte of the array's head.
  explicit GgufArray(const std::byte* data);

  GgufType element_type() const { return element_type_; }
  int64_t size() const { return size_; }
  Iterator begin() const { return Iterator(GgufValue(element_type_, elements_), size_); }
  Iterator end() const { return Iterator(GgufValue(element_type_, nullptr), 0); }
  // The elements as stored, little-endian and maybe unaligned, for types of a fixed width; empty
  // for others.
  absl::Span<const std::byte> RawElements() const;

 private:
  GgufType element_type_;
  int64_t size_;
  const std::byte* elements_;
};

struct GgufKey {
  absl::string_view key;
  GgufValue value;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_VALUE_H_
