#include "strata/generate/chat/jinja/compare.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {
namespace {

// Holds both an int64 and a double exactly.
long double Exact(const Value& number) {
  return number.Is(Value::Kind::kFloat) ? static_cast<long double>(number.float_value())
                                        : static_cast<long double>(number.int_value());
}

bool AreEqualSequences(const Value& a, const Value& b, Budget& budget) {
  if (a.items().size() != b.items().size()) return false;
  for (size_t i = 0; i < a.items().size(); ++i) {
    if (!AreEqual(a.items()[i], b.items()[i], budget)) return false;
  }
  return true;
}

bool AreEqualDicts(const Dict& a, const Dict& b, Budget& budget) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    if (key.IsString()) budget.HandleBytes(static_cast<int64_t>(key.text().size()));
    const Value* const other = b.Find(key);
    if (other == nullptr || !AreEqual(value, *other, budget)) return false;
  }
  return true;
}

bool AreEqualRanges(const RangeObject& a, const RangeObject& b) {
  if (a.size() != b.size()) return false;
  return a.size() == 0 || (a.start == b.start && (a.size() == 1 || a.step == b.step));
}

absl::Status NoOrder(const Value& a, const Value& b) {
  if (a.IsUndefined()) return absl::InvalidArgumentError(a.undefined_message());
  if (b.IsUndefined()) return absl::InvalidArgumentError(b.undefined_message());
  return absl::InvalidArgumentError(
      absl::StrCat(TypeName(a), " and ", TypeName(b), " have no order"));
}

// a < b, or a <= b if `or_equal`.
absl::StatusOr<bool> Precedes(const Value& a, const Value& b, bool or_equal, Budget& budget) {
  if (!budget.Step()) return budget.status();
  if (a.IsNumber() && b.IsNumber()) {
    return or_equal ? Exact(a) <= Exact(b) : Exact(a) < Exact(b);
  }
  if (a.IsString() && b.IsString()) {
    budget.HandleBytes(static_cast<int64_t>(std::min(a.text().size(), b.text().size())));
    const int order = a.text().compare(b.text());  // That of UTF-8 is that of code points.
    return or_equal ? order <= 0 : order < 0;
  }
  if (!a.IsSequence() || a.kind() != b.kind()) return NoOrder(a, b);
  const size_t common = std::min(a.items().size(), b.items().size());
  for (size_t i = 0; i < common; ++i) {
    const bool is_equal = AreEqual(a.items()[i], b.items()[i], budget);
    if (!budget.ok()) return budget.status();
    if (!is_equal) return Precedes(a.items()[i], b.items()[i], or_equal, budget);
  }
  return or_equal ? a.items().size() <= b.items().size() : a.items().size() < b.items().size();
}

}  // namespace

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kMissing:
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return false;
    case Value::Kind::kBool:
    case Value::Kind::kInt:
      return value.int_value() != 0;
    case Value::Kind::kFloat:
      return value.float_value() != 0;
    case Value::Kind::kString:
      return !value.marked_text().empty();
    case Value::Kind::kList:
    case Value::Kind::kTuple:
    case Value::Kind::kDict:
    case Value::Kind::kRange:
    case Value::Kind::kDictView:
      return LengthOf(value).value_or(1) != 0;
    default:
      return true;
  }
}

bool AreEqual(const Value& a, const Value& b, Budget& budget) {
  if (!budget.Step()) return false;
  if (a.IsNumber() && b.IsNumber()) return Exact(a) == Exact(b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kMissing:
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kString:
      budget.HandleBytes(static_cast<int64_t>(std::min(a.text().size(), b.text().size())));
      return a.text() == b.text();
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return AreEqualSequences(a, b, budget);
    case Value::Kind::kDict:
      return AreEqualDicts(a.dict(), b.dict(), budget);
    case Value::Kind::kRange:
      return AreEqualRanges(a.object<RangeObject>(), b.object<RangeObject>());
    case Value::Kind::kNamespace:
      return &a.object<NamespaceReference>().target == &b.object<NamespaceReference>().target;
    case Value::Kind::kFunction:
      return a.object<FunctionObject>().function == b.object<FunctionObject>().function;
    default:
      return a.IsSameObject(b);
  }
}

absl::StatusOr<bool> IsLess(const Value& a, const Value& b, Budget& budget) {
  return Precedes(a, b, false, budget);
}

absl::StatusOr<bool> IsLessOrEqual(const Value& a, const Value& b, Budget& budget) {
  return Precedes(a, b, true, budget);
}

absl::StatusOr<bool> Contains(const Value& container, const Value& item, Budget& budget) {
  if (container.IsString()) {
    if (!item.IsString()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a string is asked whether it holds a ", TypeName(item)));
    }
    budget.HandleBytes(static_cast<int64_t>(container.text().size()));
    return absl::StrContains(container.text(), item.text());
  }
  if (container.Is(Value::Kind::kDict)) {
    if (item.IsString()) budget.HandleBytes(static_cast<int64_t>(item.text().size()));
    std::string text;
    if (!HashText(item, text)) {
      return absl::InvalidArgumentError(absl::StrCat(TypeName(item), " cannot be a key"));
    }
    return container.dict().Find(item) != nullptr;
  }
  if (container.Is(Value::Kind::kRange) && !item.IsNumber()) return false;
  ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(container, budget));
  while (true) {
    ASSIGN_OR_RETURN(const Value next, cursor.Next());
    if (next.IsMissing()) return false;
    const bool is_equal = AreEqual(next, item, budget);
    if (!budget.ok()) return budget.status();
    if (is_equal) return true;
  }
}

absl::StatusOr<std::vector<Value>> SortedBy(const std::vector<Value>& items,
                                            const std::vector<Value>& keys, bool reverse,
                                            Budget& budget) {
  // A merge sort of our own: an order that fails half-way must not reach std::sort.
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<size_t> merged(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, items.size());
      const size_t end = std::min(begin + 2 * width, items.size());
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          const Value& a = keys[order[left]];
          const Value& b = keys[order[right]];
          ASSIGN_OR_RETURN(takes_right, reverse ? IsLess(a, b, budget) : IsLess(b, a, budget));
        }
        merged[out] = takes_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t index : order) sorted.push_back(items[index]);
  return sorted;
}

}  // namespace strata::jinja
