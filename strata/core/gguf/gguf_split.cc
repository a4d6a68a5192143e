#include "strata/core/gguf/gguf_split.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_header.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr absl::string_view kNumberKey = "split.no";
constexpr absl::string_view kCountKey = "split.count";
constexpr absl::string_view kTotalKey = "split.tensors.count";
constexpr size_t kDigits = 5;

// Takes five digits off the end of `text`; empty when they are not there or all 0.
std::optional<int> ConsumeNumber(absl::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(text.size() - kDigits)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  if (number == 0) return std::nullopt;
  text.remove_suffix(kDigits);
  return number;
}

// A value that fits no i64 is read as the largest one, which equals no count.
absl::StatusOr<int64_t> ReadSplitKey(const GgufHeader& header, absl::string_view key) {
  const GgufValue* const value = header.Find(key);
  if (value == nullptr) {
    return InputError("split_key_missing", "", absl::StrCat("the shard has no key ", key));
  }
  if (!IsInteger(value->type())) {
    return InputError(
        "split_key_type", "",
        absl::StrCat(key, " is of type ", NameOf(value->type()), ", which holds no integer"));
  }
  return value->AsInt().value_or(std::numeric_limits<int64_t>::max());
}

absl::Status CheckSplitKeys(const GgufHeader& header, const SplitName& name) {
  ASSIGN_OR_RETURN(const int64_t count, ReadSplitKey(header, kCountKey));
  ASSIGN_OR_RETURN(const int64_t no, ReadSplitKey(header, kNumberKey));
  RETURN_IF_ERROR(ReadSplitKey(header, kTotalKey).status());
  if (count != name.count) {
    return InputError(
        "split_count", "",
        absl::StrCat(kCountKey, " is ", count, ", but the name says ", name.count, " shards"));
  }
  if (no != name.number - 1) {
    return InputError("split_order", "",
                      absl::StrCat(kNumberKey, " is ", no, " (counted from 0), but the name says ",
                                   "shard ", name.number, " (counted from 1)"));
  }
  return absl::OkStatus();
}

absl::Status CheckSameModel(const GgufHeader& first, const GgufHeader& other) {
  for (const absl::string_view key : {"general.architecture", "general.name", "general.uuid"}) {
    const GgufValue* const a = first.Find(key);
    const GgufValue* const b = other.Find(key);
    if (a == nullptr || b == nullptr || a->AsString() == b->AsString()) continue;
    const auto shown = [](const GgufValue& value) {
      return Printable(value.AsString().value_or("no text"), 80);
    };
    return InputError(
        "split_mixed_models", "",
        absl::StrCat(key, " is '", shown(*b), "', in the first shard '", shown(*a), "'"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<SplitName> ParseSplitName(absl::string_view path) {
  SplitName name;
  if (!absl::ConsumeSuffix(&path, ".gguf")) return std::nullopt;
  const std::optional<int> count = ConsumeNumber(path);
  if (!count.has_value() || !absl::ConsumeSuffix(&path, "-of-")) return std::nullopt;
  const std::optional<int> number = ConsumeNumber(path);
  if (!number.has_value() || !absl::ConsumeSuffix(&path, "-")) return std::nullopt;
  return SplitName{std::string(path), *number, *count};
}

std::string ShardPath(const SplitName& name, int number) {
  return absl::StrFormat("%s-%05d-of-%05d.gguf", name.base, number, name.count);
}

bool IsSplit(const GgufHeader& header) {
  const GgufValue* const count = header.Find(kCountKey);
  if (count != nullptr) return count->AsInt() != 0;
  return header.Find(kNumberKey) != nullptr || header.Find(kTotalKey) != nullptr;
}

absl::StatusOr<SplitName> IdentifyShard(const GgufHeader& header, const std::string& path) {
  const std::optional<SplitName> name = ParseSplitName(path);
  if (!IsSplit(header)) {
    if (!name.has_value() || name->count == 1) return SplitName{};
    const bool says_zero = header.Find(kCountKey) != nullptr;
    return InputError(says_zero ? "split_count" : "split_key_missing", "",
                      absl::StrCat("named as shard ", name->number, " of ", name->count, ", but ",
                                   kCountKey, says_zero ? " is 0" : " is missing"));
  }
  if (!name.has_value()) {
    ASSIGN_OR_RETURN(const int64_t count, ReadSplitKey(header, kCountKey));
    if (count != 1) {
      return InputError("split_name", "",
                        absl::StrCat("one of ", count,
                                     " shards, but its name does not end in -NNNNN-of-NNNNN.gguf"));
    }
  }
  // All of a model in one shard needs no siblings, so any name will do.
  RETURN_IF_ERROR(CheckSplitKeys(header, name.value_or(SplitName{})));
  if (name.has_value() && name->number > name->count) {
    return InputError("split_name", "", absl::StrCat("shard ", name->number, " of ", name->count));
  }
  return name.value_or(SplitName{});
}

absl::Status CheckShard(const GgufHeader& header, const SplitName& name, const GgufHeader& first) {
  RETURN_IF_ERROR(CheckSplitKeys(header, name));
  return CheckSameModel(first, header);
}

absl::Status CheckTensorTotal(const GgufHeader& header, int64_t num_tensors) {
  ASSIGN_OR_RETURN(const int64_t total, ReadSplitKey(header, kTotalKey));
  if (total == num_tensors) return absl::OkStatus();
  return InputError(
      "split_tensors", "",
      absl::StrCat(kTotalKey, " is ", total, ", but the shards hold ", num_tensors, " tensors"));
}

}  // namespace strata
