#include "strata/generate/chat/jinja/attributes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/loop_object.h"
#include "strata/generate/chat/jinja/macro_object.h"
#include "strata/generate/chat/jinja/methods.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {
namespace {

Value NoAttribute(const Value& value, absl::string_view name) {
  return Value::Undefined(absl::StrCat(TypeName(value), " has no attribute '", name, "'"));
}

Value MacroAttribute(const MacroObject& macro, absl::string_view name, Budget& budget) {
  if (name == "name") return Value::String(macro.name);
  if (name == "catch_kwargs") return Value::Bool(macro.takes_kwargs);
  if (name == "catch_varargs") return Value::Bool(macro.takes_varargs);
  if (name == "caller") return Value::Bool(macro.takes_caller);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const std::string& parameter : macro.parameters) names.push_back(Value::String(parameter));
    return Value::Tuple(std::move(names), &budget);
  }
  return Value();
}

// An attribute that is no method; missing if there is none.
absl::StatusOr<Value> PlainAttribute(const Value& value, absl::string_view name, Budget& budget) {
  switch (value.kind()) {
    case Value::Kind::kNamespace: {
      const Value* const found = value.object<NamespaceReference>().target.Find(name);
      return found == nullptr ? Value() : *found;
    }
    case Value::Kind::kLoop:
      return value.object<LoopObject>().Attribute(name);
    case Value::Kind::kMacro:
      return MacroAttribute(value.object<MacroReference>().target, name, budget);
    case Value::Kind::kRange: {
      const RangeObject& range = value.object<RangeObject>();
      if (name == "start") return Value::Int(range.start);
      if (name == "stop") return Value::Int(range.stop);
      if (name == "step") return Value::Int(range.step);
      return Value();
    }
    case Value::Kind::kCycler: {
      const CyclerObject& cycler = value.object<CyclerObject>();
      if (name == "current") return cycler.items.items()[cycler.next];
      if (name == "pos") return Value::Int(static_cast<int64_t>(cycler.next));
      if (name == "items") return cycler.items;
      return Value();
    }
    case Value::Kind::kJoiner: {
      const JoinerObject& joiner = value.object<JoinerObject>();
      if (name == "sep") return joiner.separator;
      if (name == "used") return Value::Bool(joiner.is_used);
      return Value();
    }
    case Value::Kind::kInt:
    case Value::Kind::kBool:
      if (name == "real" || name == "numerator") {
        return Value::Int(value.int_value(), value.is_content());
      }
      if (name == "imag") return Value::Int(0);
      return name == "denominator" ? Value::Int(1) : Value();
    case Value::Kind::kTuple:
      if (!value.IsGroup()) return Value();
      if (name == "grouper") return value.items()[0];
      return name == "list" ? value.items()[1] : Value();
    case Value::Kind::kFloat:
      if (name == "real") return value;
      return name == "imag" ? Value::Float(0) : Value();
    default:
      return Value();
  }
}

// The attribute or method; missing if there is none.
absl::StatusOr<Value> FindAttribute(const Value& value, absl::string_view name, Budget& budget) {
  switch (FindMethod(value, name)) {
    case MethodKind::kNone:
      return PlainAttribute(value, name, budget);
    case MethodKind::kChanges:
      return Value::Undefined(absl::StrCat("the sandbox refuses '", name, "' of a ",
                                           TypeName(value), ": it would change the value"));
    case MethodKind::kCallable:
      break;
  }
  return Value::OfObject(Value::Kind::kMethod,
                         std::make_shared<MethodObject>(value, std::string(name)));
}

// The item; missing where Python has a TypeError or a LookupError.
Value FindItem(const Value& value, const Value& key, Budget& budget) {
  if (value.Is(Value::Kind::kDict)) {
    if (key.IsString()) budget.HandleBytes(static_cast<int64_t>(key.text().size()));
    const Value* const found = value.dict().Find(key);
    return found == nullptr ? Value() : *found;
  }
  if (!key.IsIntegral()) return Value();
  int64_t index = key.int_value();
  if (value.IsString()) {
    const int64_t size = value.num_characters();
    if (index < 0) index += size;
    if (index < 0 || index >= size) return Value();
    const std::string& text = value.text();
    if (size == static_cast<int64_t>(text.size())) {
      const auto at = static_cast<size_t>(index);
      return Value::StringLike(value, value.marked_text().Part(at, at + 1), &budget);
    }
    budget.HandleBytes(static_cast<int64_t>(text.size()));
    size_t at = 0;
    for (; index > 0; --index) at = CharacterAt(text, at).end;
    const Character character = CharacterAt(text, at);
    return Value::StringLike(value, value.marked_text().Part(at, character.end), &budget);
  }
  if (value.IsSequence()) {
    const auto size = static_cast<int64_t>(value.items().size());
    if (index < 0) index += size;
    return index < 0 || index >= size ? Value() : value.items()[static_cast<size_t>(index)];
  }
  if (value.Is(Value::Kind::kRange)) {
    const RangeObject& range = value.object<RangeObject>();
    if (index < 0) index += range.size();
    return index < 0 || index >= range.size() ? Value() : Value::Int(range.at(index));
  }
  return Value();
}

// Python's slice.indices.
struct Indices {
  int64_t start;
  int64_t stop;
  int64_t count;
  int64_t step;
};

absl::StatusOr<Indices> IndicesOf(const Value& start_value, const Value& stop_value,
                                  const Value& step_value, int64_t size) {
  ASSIGN_OR_RETURN(int64_t step, IntOr(step_value, 1, "a slice's step"));
  if (step == 0) return absl::InvalidArgumentError("a slice's step is 0");
  step = std::max<int64_t>(step, -INT64_MAX);
  const int64_t lowest = step < 0 ? -1 : 0;
  const int64_t highest = step < 0 ? size - 1 : size;
  const auto clamp = [&](int64_t index) {
    if (index < 0) index += size;
    return std::clamp(index, lowest, std::max(lowest, highest));
  };
  ASSIGN_OR_RETURN(int64_t start, IntOr(start_value, step < 0 ? INT64_MAX : 0, "a slice's start"));
  start = clamp(start);
  int64_t stop = lowest;
  if (stop_value.IsMissing() || stop_value.IsNone()) {
    stop = step < 0 ? -1 : size;
  } else {
    ASSIGN_OR_RETURN(stop, IntOr(stop_value, 0, "a slice's stop"));
    stop = clamp(stop);
  }
  const RangeObject range(start, stop, step);
  return Indices{start, stop, range.size(), step};
}

Value SliceString(const Value& value, const Indices& indices, Budget& budget) {
  const MarkedText& text = value.marked_text();
  const bool is_ascii = value.num_characters() == static_cast<int64_t>(text.size());
  budget.HandleBytes(static_cast<int64_t>(text.size()));
  MarkedText slice;
  if (is_ascii && indices.step == 1) {
    const auto begin = static_cast<size_t>(indices.start);
    slice = text.Part(begin, begin + static_cast<size_t>(indices.count));
  } else {
    const std::vector<Character> characters = CharactersOf(text.text());
    for (int64_t i = 0; i < indices.count; ++i) {
      const Character& c = characters[static_cast<size_t>(indices.start + i * indices.step)];
      slice.AppendPart(text, c.begin, c.end);
    }
  }
  return Value::StringLike(value, std::move(slice), &budget);
}

}  // namespace

absl::StatusOr<Value> GetAttribute(const Value& value, absl::string_view name, Budget& budget) {
  if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
  ASSIGN_OR_RETURN(Value found, FindAttribute(value, name, budget));
  if (found.IsMissing() && value.Is(Value::Kind::kDict)) {
    if (const Value* const item = value.dict().Find(name)) return *item;
  }
  return found.IsMissing() ? NoAttribute(value, name) : found;
}

absl::StatusOr<Value> GetItem(const Value& value, const Value& key, Budget& budget) {
  if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
  Value found = FindItem(value, key, budget);
  if (!found.IsMissing()) return found;
  if (!key.IsString()) {
    return Value::Undefined(absl::StrCat(TypeName(value), " has no such element"));
  }
  ASSIGN_OR_RETURN(found, FindAttribute(value, key.text(), budget));
  return found.IsMissing() ? NoAttribute(value, key.text()) : found;
}

namespace {

absl::StatusOr<Value> SliceRange(const RangeObject& range, const Indices& indices) {
  int64_t start, stop, step;
  if (__builtin_mul_overflow(indices.start, range.step, &start) ||
      __builtin_add_overflow(range.start, start, &start) ||
      __builtin_mul_overflow(indices.stop, range.step, &stop) ||
      __builtin_add_overflow(range.start, stop, &stop) ||
      __builtin_mul_overflow(range.step, indices.step, &step)) {
    return absl::InvalidArgumentError("an integer does not fit into 64 bits");
  }
  return Value::OfObject(Value::Kind::kRange, std::make_shared<RangeObject>(start, stop, step));
}

}  // namespace

absl::StatusOr<Value> GetSlice(const Value& value, const Value& start, const Value& stop,
                               const Value& step, Budget& budget) {
  if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
  const bool is_range = value.Is(Value::Kind::kRange);
  if (!value.IsString() && !value.IsSequence() && !is_range) {
    return absl::InvalidArgumentError(absl::StrCat("a ", TypeName(value), " has no slices"));
  }
  ASSIGN_OR_RETURN(const int64_t size, LengthOf(value));
  ASSIGN_OR_RETURN(const Indices indices, IndicesOf(start, stop, step, size));
  if (value.IsString()) return SliceString(value, indices, budget);
  if (is_range) {
    return SliceRange(value.object<RangeObject>(), indices);
  }
  std::vector<Value> items;
  budget.HandleItems(indices.count);
  for (int64_t i = 0; i < indices.count; ++i) {
    items.push_back(value.items()[static_cast<size_t>(indices.start + i * indices.step)]);
  }
  return value.Is(Value::Kind::kList) ? Value::List(std::move(items), &budget, value.is_content())
                                      : Value::Tuple(std::move(items), &budget, value.is_content());
}

}  // namespace strata::jinja
