#include "strata/generate/chat/jinja/attribute_path.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/attributes.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {

absl::StatusOr<AttributePath> AttributePath::Parse(const Value& attribute) {
  AttributePath path;
  if (attribute.IsMissing() || attribute.IsNone()) return path;
  if (!attribute.IsString()) {
    path.parts_.push_back(attribute);
    return path;
  }
  for (const absl::string_view part : absl::StrSplit(attribute.text(), '.')) {
    const bool is_index = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
    int64_t index = 0;
    if (is_index && !absl::SimpleAtoi(part, &index)) {
      return absl::InvalidArgumentError("an attribute's number does not fit into 64 bits");
    }
    path.parts_.push_back(is_index ? Value::Int(index) : Value::String(part));
  }
  return path;
}

absl::StatusOr<Value> AttributePath::Get(const Value& item, Budget& budget,
                                         const Value& otherwise) const {
  Value value = item;
  for (const Value& part : parts_) {
    if (!budget.Step()) return budget.status();
    ASSIGN_OR_RETURN(value, GetItem(value, part, budget));
    if (value.IsUndefined() && !otherwise.IsMissing()) value = otherwise;
  }
  return value;
}

Value IgnoringCase(const Value& value, Budget& budget) {
  if (!value.IsString()) return value;
  return Value::String(Lower(value.marked_text()), &budget);
}

Value IteratorOver(std::vector<Value> items, absl::Status end, Budget& budget) {
  return Value::OfObject(Value::Kind::kIterator, std::make_shared<IteratorObject>(
                                                     std::move(items), std::move(end), &budget));
}

}  // namespace strata::jinja
