#include "strata/core/gguf/gguf_value.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T Load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

struct TypeInfo {
  absl::string_view name;
  int width;
};

// By id.
constexpr TypeInfo kTypes[] = {
    {"u8", 1},   {"i8", 1},  {"u16", 2}, {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"str", 0}, {"arr", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

const TypeInfo& InfoOf(GgufType type) {
  const uint32_t id = static_cast<uint32_t>(type);
  CHECK(IsGgufType(id)) << id;
  return kTypes[id];
}

}  // namespace

bool IsGgufType(uint32_t id) { return id < std::size(kTypes); }

bool IsInteger(GgufType type) {
  switch (type) {
    case GgufType::kF32:
    case GgufType::kBool:
    case GgufType::kString:
    case GgufType::kArray:
    case GgufType::kF64:
      return false;
    default:
      return true;
  }
}

int WidthOf(GgufType type) { return InfoOf(type).width; }

absl::string_view NameOf(GgufType type) { return InfoOf(type).name; }

std::optional<uint64_t> GgufValue::AsUint() const {
  if (type_ == GgufType::kU64) return Load<uint64_t>(data_);
  const std::optional<int64_t> value = AsInt();
  if (!value.has_value() || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::optional<int64_t> GgufValue::AsInt() const {
  switch (type_) {
    case GgufType::kU8:
      return Load<uint8_t>(data_);
    case GgufType::kI8:
      return Load<int8_t>(data_);
    case GgufType::kU16:
      return Load<uint16_t>(data_);
    case GgufType::kI16:
      return Load<int16_t>(data_);
    case GgufType::kU32:
      return Load<uint32_t>(data_);
    case GgufType::kI32:
      return Load<int32_t>(data_);
    case GgufType::kI64:
      return Load<int64_t>(data_);
    case GgufType::kU64: {
      const uint64_t value = Load<uint64_t>(data_);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> GgufValue::AsDouble() const {
  if (type_ == GgufType::kF32) return Load<float>(data_);
  if (type_ == GgufType::kF64) return Load<double>(data_);
  return std::nullopt;
}

std::optional<bool> GgufValue::AsBool() const {
  if (type_ != GgufType::kBool) return std::nullopt;
  return Load<uint8_t>(data_) != 0;
}

std::optional<absl::string_view> GgufValue::AsString() const {
  if (type_ != GgufType::kString) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(data_ + sizeof(uint64_t));
  return absl::string_view(text, Load<uint64_t>(data_));
}

std::optional<GgufArray> GgufValue::AsArray() const {
  if (type_ != GgufType::kArray) return std::nullopt;
  return GgufArray(data_);
}

// Nested arrays recurse here, as deep as GgufHeader lets them be.
const std::byte* GgufValue::end() const {
  if (type_ == GgufType::kString) return data_ + sizeof(uint64_t) + Load<uint64_t>(data_);
  if (type_ != GgufType::kArray) return data_ + WidthOf(type_);
  const GgufArray array(data_);
  if (WidthOf(array.element_type()) != 0) {
    return data_ + GgufArray::kHeadBytes + array.RawElements().size();
  }
  const std::byte* end = data_ + GgufArray::kHeadBytes;
  for (int64_t i = 0; i < array.size(); ++i) end = GgufValue(array.element_type(), end).end();
  return end;
}

GgufArray::GgufArray(const std::byte* data)
    : element_type_(static_cast<GgufType>(Load<uint32_t>(data))),
      size_(static_cast<int64_t>(Load<uint64_t>(data + sizeof(uint32_t)))),
      elements_(data + kHeadBytes) {}

GgufArray::Iterator& GgufArray::Iterator::operator++() {
  --left_;
  if (left_ > 0) element_ = GgufValue(element_.type(), element_.end());
  return *this;
}

absl::Span<const std::byte> GgufArray::RawElements() const {
  return absl::MakeConstSpan(
      elements_, static_cast<size_t>(size_) * static_cast<size_t>(WidthOf(element_type_)));
}

}  // namespace strata
