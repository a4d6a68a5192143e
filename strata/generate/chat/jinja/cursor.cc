#include "strata/generate/chat/jinja/cursor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {
namespace {

Value NextCharacter(const Value& string, size_t& next, Budget& budget) {
  const MarkedText& text = string.marked_text();
  if (next == text.size()) return Value();
  const Character character = CharacterAt(text.text(), next);
  next = character.end;
  return Value::String(text.Part(character.begin, character.end), &budget);
}

Value NextOfView(const DictViewObject& view, size_t& next, Budget& budget) {
  const std::vector<Dict::Entry>& entries = view.dict.dict().entries();
  if (next == entries.size()) return Value();
  const Dict::Entry& entry = entries[next++];
  switch (view.part) {
    case DictViewObject::Part::kKeys:
      return entry.first;
    case DictViewObject::Part::kValues:
      return entry.second;
    case DictViewObject::Part::kItems:
      return Value::Tuple({entry.first, entry.second}, &budget, view.dict.is_content());
  }
  return Value();
}

}  // namespace

bool IsIterable(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kString:
    case Value::Kind::kList:
    case Value::Kind::kTuple:
    case Value::Kind::kDict:
    case Value::Kind::kRange:
    case Value::Kind::kDictView:
    case Value::Kind::kIterator:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<Cursor> Cursor::Over(const Value& value, Budget& budget) {
  if (!IsIterable(value)) {
    return absl::InvalidArgumentError(absl::StrCat(TypeName(value), " cannot be iterated over"));
  }
  return Cursor(value, budget);
}

absl::StatusOr<Value> Cursor::Next() {
  if (!budget_->Step()) return budget_->status();
  switch (value_.kind()) {
    case Value::Kind::kString:
      return NextCharacter(value_, next_, *budget_);
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return next_ < value_.items().size() ? value_.items()[next_++] : Value();
    case Value::Kind::kDict: {
      const std::vector<Dict::Entry>& entries = value_.dict().entries();
      return next_ < entries.size() ? entries[next_++].first : Value();
    }
    case Value::Kind::kRange: {
      const RangeObject& range = value_.object<RangeObject>();
      if (next_ == static_cast<size_t>(range.size())) return Value();
      return Value::Int(range.at(static_cast<int64_t>(next_++)), value_.is_content());
    }
    case Value::Kind::kDictView:
      return NextOfView(value_.object<DictViewObject>(), next_, *budget_);
    case Value::Kind::kIterator: {
      IteratorObject& iterator = value_.object<IteratorObject>();
      if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
      RETURN_IF_ERROR(iterator.end);
      if (iterator.find != nullptr) return iterator.find();
      return Value();
    }
    default:
      return Value();  // Undefined: no items.
  }
}

absl::StatusOr<std::vector<Value>> ItemsOf(const Value& value, Budget& budget) {
  ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(value, budget));
  std::vector<Value> items;
  while (true) {
    ASSIGN_OR_RETURN(Value item, cursor.Next());
    if (item.IsMissing()) return items;
    items.push_back(std::move(item));
    if (items.size() % 1024 == 0 &&
        !budget.HasRoomFor(static_cast<int64_t>(2 * items.size() * sizeof(Value)))) {
      return budget.status();
    }
  }
}

absl::StatusOr<int64_t> LengthOf(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return 0;
    case Value::Kind::kString:
      return value.num_characters();
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return static_cast<int64_t>(value.items().size());
    case Value::Kind::kDict:
      return static_cast<int64_t>(value.dict().size());
    case Value::Kind::kRange:
      return value.object<RangeObject>().size();
    case Value::Kind::kDictView:
      return static_cast<int64_t>(value.object<DictViewObject>().dict.dict().size());
    default:
      return absl::InvalidArgumentError(absl::StrCat(TypeName(value), " has no length"));
  }
}

}  // namespace strata::jinja
