#include "strata/core/gguf/metadata_reader.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {
namespace {

std::string FullKey(absl::string_view prefix, absl::string_view name) {
  return prefix.empty() ? std::string(name) : absl::StrCat(prefix, ".", name);
}

}  // namespace

const GgufValue* MetadataReader::Find(absl::string_view name) const {
  return file_.FindKey(FullKey(prefix_, name));
}

bool MetadataReader::Has(absl::string_view name) const { return Find(name) != nullptr; }

void MetadataReader::Require(absl::string_view name) {
  if (!Has(name)) Refuse(name, "is missing");
}

void MetadataReader::Refuse(absl::string_view name, absl::string_view message) {
  Fail("hparams", name, message);
}

void MetadataReader::Fail(absl::string_view kind, absl::string_view name,
                          absl::string_view message) {
  if (!status_.ok()) return;
  status_ =
      InputError(kind, file_.path(), absl::StrCat("key ", FullKey(prefix_, name), " ", message));
}

bool MetadataReader::WrongType(absl::string_view name, GgufValue value, absl::string_view wanted) {
  Fail("key_type", name, absl::StrCat("is of type ", NameOf(value.type()), ", not ", wanted));
  return false;
}

bool MetadataReader::Convert(absl::string_view name, GgufValue value, int64_t& number) {
  if (!IsInteger(value.type())) return WrongType(name, value, "an integer");
  const std::optional<int64_t> integer = value.AsInt();
  if (!integer.has_value() || *integer < 0 || *integer > kMaxNumber) {
    Refuse(name, integer.has_value() ? absl::StrCat("is ", *integer) : "does not fit 63 bits");
    return false;
  }
  number = *integer;
  return true;
}

bool MetadataReader::Convert(absl::string_view name, GgufValue value, uint64_t& number) {
  if (!IsInteger(value.type())) return WrongType(name, value, "an integer");
  const std::optional<uint64_t> integer = value.AsUint();
  if (!integer.has_value()) {
    Refuse(name, "is negative");
    return false;
  }
  number = *integer;
  return true;
}

bool MetadataReader::Convert(absl::string_view name, GgufValue value, double& number) {
  const std::optional<double> real = value.AsDouble();
  if (!real.has_value()) return WrongType(name, value, "a floating-point number");
  if (!std::isfinite(*real)) {
    Refuse(name, "is not finite");
    return false;
  }
  number = *real;
  return true;
}

bool MetadataReader::Convert(absl::string_view name, GgufValue value, bool& flag) {
  const std::optional<bool> stored = value.AsBool();
  if (!stored.has_value()) return WrongType(name, value, "a bool");
  flag = *stored;
  return true;
}

bool MetadataReader::Convert(absl::string_view name, GgufValue value, std::string& text) {
  const std::optional<absl::string_view> stored = value.AsString();
  if (!stored.has_value()) return WrongType(name, value, "a string");
  text = std::string(*stored);
  return true;
}

template <typename T>
void MetadataReader::ReadOne(absl::string_view name, T& target) {
  if (const GgufValue* const value = Find(name); value != nullptr) Convert(name, *value, target);
}

template <typename T>
void MetadataReader::ReadMany(absl::string_view name, std::vector<T>& target) {
  const GgufValue* const value = Find(name);
  if (value == nullptr) return;
  std::vector<T> read;
  T element{};
  if (const std::optional<GgufArray> array = value->AsArray(); array.has_value()) {
    for (const GgufValue stored : *array) {
      if (!Convert(name, stored, element)) return;
      read.push_back(element);
    }
  } else {
    if (!Convert(name, *value, element)) return;
    read.push_back(element);
  }
  target = std::move(read);
}

void MetadataReader::Read(absl::string_view name, int64_t& number) { ReadOne(name, number); }
void MetadataReader::Read(absl::string_view name, double& number) { ReadOne(name, number); }
void MetadataReader::Read(absl::string_view name, bool& flag) { ReadOne(name, flag); }
void MetadataReader::Read(absl::string_view name, std::string& text) { ReadOne(name, text); }
void MetadataReader::Read(absl::string_view name, std::vector<int64_t>& numbers) {
  ReadMany(name, numbers);
}
void MetadataReader::Read(absl::string_view name, std::vector<double>& numbers) {
  ReadMany(name, numbers);
}
void MetadataReader::ReadWide(absl::string_view name, std::vector<uint64_t>& numbers) {
  ReadMany(name, numbers);
}
void MetadataReader::ReadFlags(absl::string_view name, std::vector<int64_t>& flags) {
  const GgufValue* const value = Find(name);
  const std::optional<GgufArray> array = value == nullptr ? std::nullopt : value->AsArray();
  if (!array.has_value() || array->element_type() != GgufType::kBool) {
    ReadMany(name, flags);
    return;
  }
  flags.clear();
  for (const GgufValue flag : *array) flags.push_back(*flag.AsBool() ? 1 : 0);
}

}  // namespace strata
