#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/attribute_path.h"
#include "strata/generate/chat/jinja/attributes.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/filter_functions.h"
#include "strata/generate/chat/jinja/methods.h"
#include "strata/generate/chat/jinja/python_text.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {

absl::StatusOr<Value> AttrFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"name"}, 1));
  if (!bound[0].IsString()) return absl::InvalidArgumentError("attr wants a name");
  if (call.input.Is(Value::Kind::kDict) &&
      FindMethod(call.input, bound[0].text()) == MethodKind::kNone) {
    return Value::Undefined(absl::StrCat("dict has no attribute '", bound[0].text(), "'"));
  }
  return GetAttribute(call.input, bound[0].text(), call.budget);
}

absl::StatusOr<Value> BatchFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"linecount", "fill_with"}, 1));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  ASSIGN_OR_RETURN(const int64_t size, IntOr(bound[0], 0, "batch's linecount"));
  std::vector<Value> batches;
  std::vector<Value> batch;
  for (const Value& item : items) {
    if (static_cast<int64_t>(batch.size()) == size) {
      batches.push_back(Value::List(std::move(batch), &call.budget));
      batch.clear();
    }
    batch.push_back(item);
  }
  if (!batch.empty()) {
    const int64_t missing = size - static_cast<int64_t>(batch.size());
    if (!bound[1].IsMissing() && !bound[1].IsNone() && missing > 0) {
      if (missing > call.budget.limits().max_bytes / 64 || !call.budget.HasRoomFor(64 * missing)) {
        return absl::ResourceExhaustedError("batch: the fill is too large");
      }
      batch.insert(batch.end(), static_cast<size_t>(missing), bound[1]);
    }
    batches.push_back(Value::List(std::move(batch), &call.budget));
  }
  return IteratorOver(std::move(batches), absl::OkStatus(), call.budget);
}

absl::StatusOr<Value> DefaultFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"default_value", "boolean"}));
  const bool replaces = call.input.IsUndefined() || (IsTrue(bound[1]) && !IsTrue(call.input));
  if (!replaces) return call.input;
  return bound[0].IsMissing() ? Value::String("") : bound[0];
}

absl::StatusOr<Value> FirstFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(call.input, call.budget));
  ASSIGN_OR_RETURN(const Value first, cursor.Next());
  return first.IsMissing() ? Value::Undefined("there is no first item") : first;
}

absl::StatusOr<Value> LastFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  if (call.input.Is(Value::Kind::kIterator)) {
    return absl::InvalidArgumentError("last: a generator cannot be reversed");
  }
  if (call.input.IsSequence()) {
    const std::vector<Value>& items = call.input.items();
    return items.empty() ? Value::Undefined("there is no last item") : items.back();
  }
  if (call.input.IsString()) {
    Value last = call.input.text().empty() ? Value() : Value::Int(0);
    if (last.IsMissing()) return Value::Undefined("there is no last item");
    return GetItem(call.input, Value::Int(-1), call.budget);
  }
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  return items.empty() ? Value::Undefined("there is no last item") : items.back();
}

absl::StatusOr<Value> ItemsFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  std::vector<Value> pairs;
  absl::Status end;
  if (call.input.Is(Value::Kind::kDict)) {
    for (const auto& [key, value] : call.input.dict().entries()) {
      pairs.push_back(Value::Tuple({key, value}, &call.budget, call.input.is_content()));
    }
  } else if (!call.input.IsUndefined()) {
    end = absl::InvalidArgumentError("items wants a mapping");
  }
  return IteratorOver(std::move(pairs), std::move(end), call.budget);
}

absl::StatusOr<Value> JoinFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"d", "attribute"}));
  MarkedText separator;
  if (!bound[0].IsMissing()) {
    ASSIGN_OR_RETURN(separator, TextOf(bound[0], call.budget));
  }
  ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Parse(bound[1]));
  ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(call.input, call.budget));
  MarkedText joined;
  for (bool is_first = true;; is_first = false) {
    ASSIGN_OR_RETURN(Value item, cursor.Next());
    if (item.IsMissing()) break;
    ASSIGN_OR_RETURN(item, path.Get(item, call.budget));
    ASSIGN_OR_RETURN(const MarkedText text, TextOf(item, call.budget));
    if (!is_first) joined.Append(separator);
    joined.Append(text);
    if (!call.budget.HasRoomFor(static_cast<int64_t>(joined.bytes()))) return call.budget.status();
  }
  return Value::String(std::move(joined), &call.budget);
}

absl::StatusOr<Value> LengthFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(const int64_t length, LengthOf(call.input));
  return Value::Int(length);
}

absl::StatusOr<Value> ListFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(call.input, call.budget));
  return Value::List(std::move(items), &call.budget, call.input.is_content());
}

absl::StatusOr<Value> ReverseFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  if (call.input.IsString()) {
    return GetSlice(call.input, Value(), Value(), Value::Int(-1), call.budget);
  }
  ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(call.input, call.budget));
  std::reverse(items.begin(), items.end());
  // What cannot be reversed in place becomes a list.
  if (call.input.Is(Value::Kind::kIterator)) return Value::List(std::move(items), &call.budget);
  return IteratorOver(std::move(items), absl::OkStatus(), call.budget);
}

absl::StatusOr<Value> SliceFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"slices", "fill_with"}, 1));
  ASSIGN_OR_RETURN(const int64_t num_slices, IntOr(bound[0], 0, "slice's number"));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  if (num_slices == 0) return absl::InvalidArgumentError("slice: into 0 slices");
  if (num_slices > call.budget.limits().max_bytes / 256) {
    return absl::ResourceExhaustedError("slice: too many slices");
  }
  const auto size = static_cast<int64_t>(items.size());
  std::vector<Value> slices;
  auto begin = items.begin();
  for (int64_t i = 0; i < num_slices; ++i) {
    const bool has_extra = i < size % num_slices;
    const auto end = begin + size / num_slices + (has_extra ? 1 : 0);
    std::vector<Value> slice(begin, end);
    if (!bound[1].IsMissing() && !bound[1].IsNone() && !has_extra) slice.push_back(bound[1]);
    slices.push_back(Value::List(std::move(slice), &call.budget));
    if (!call.budget.ok()) return call.budget.status();
    begin = end;
  }
  return IteratorOver(std::move(slices), absl::OkStatus(), call.budget);
}

}  // namespace strata::jinja
