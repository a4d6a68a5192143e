#include "strata/generate/chat/jinja/loop_object.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {

absl::StatusOr<std::shared_ptr<LoopObject>> LoopObject::Create(const Value& iterable, int depth0,
                                                               Recurse recurse, Budget& budget) {
  ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(iterable, budget));
  return absl::WrapUnique(
      new LoopObject(iterable, std::move(cursor), depth0, std::move(recurse), budget));
}

LoopObject::LoopObject(Value iterable, Cursor cursor, int depth0, Recurse recurse, Budget& budget)
    : Object(&budget, sizeof(LoopObject), iterable.depth() + 1),
      iterable_(std::move(iterable)),
      budget_(budget),
      cursor_(std::move(cursor)),
      depth0_(depth0),
      recurse_(std::move(recurse)) {}

absl::StatusOr<Value> LoopObject::Next() {
  Value next = std::move(after_);
  after_ = Value();
  if (next.IsMissing()) {
    ASSIGN_OR_RETURN(next, cursor_.Next());
    if (next.IsMissing()) return next;
  }
  ++index0_;
  before_ = std::move(current_);
  current_ = next;
  return next;
}

void LoopObject::End() {
  has_ended_ = true;
  last_changed_ = Value();
  recurse_ = nullptr;
}

absl::StatusOr<Value> LoopObject::PeekNext() {
  if (after_.IsMissing()) {
    ASSIGN_OR_RETURN(after_, cursor_.Next());
  }
  return after_;
}

absl::StatusOr<int64_t> LoopObject::Length() {
  if (length_ >= 0) return length_;
  if (const absl::StatusOr<int64_t> length = LengthOf(iterable_); length.ok()) {
    length_ = *length;
    return length_;
  }
  // A generator: all that is left of it is taken.
  std::vector<Value> rest;
  while (true) {
    ASSIGN_OR_RETURN(Value item, cursor_.Next());
    if (item.IsMissing()) break;
    rest.push_back(std::move(item));
  }
  length_ = static_cast<int64_t>(rest.size()) + index0_ + 1 + (after_.IsMissing() ? 0 : 1);
  ASSIGN_OR_RETURN(cursor_, Cursor::Over(Value::List(std::move(rest), &budget_), budget_));
  return length_;
}

absl::StatusOr<Value> LoopObject::Attribute(absl::string_view name) {
  if (name == "index0") return Value::Int(index0_);
  if (name == "index") return Value::Int(index0_ + 1);
  if (name == "first") return Value::Bool(index0_ == 0);
  if (name == "depth0") return Value::Int(depth0_);
  if (name == "depth") return Value::Int(depth0_ + 1);
  if (name == "last") {
    ASSIGN_OR_RETURN(const Value next, PeekNext());
    return Value::Bool(next.IsMissing());
  }
  if (name == "previtem") {
    if (index0_ == 0 || before_.IsMissing()) return Value::Undefined("there is no previous item");
    return before_;
  }
  if (name == "nextitem") {
    ASSIGN_OR_RETURN(Value next, PeekNext());
    return next.IsMissing() ? Value::Undefined("there is no next item") : next;
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    ASSIGN_OR_RETURN(const int64_t length, Length());
    if (name == "length") return Value::Int(length);
    return Value::Int(name == "revindex" ? length - index0_ : length - index0_ - 1);
  }
  return Value();
}

bool LoopObject::HasChanged(const Value& values, Budget& budget) {
  if (!last_changed_.IsMissing() && AreEqual(last_changed_, values, budget)) return false;
  if (!has_ended_) last_changed_ = values;
  return true;
}

}  // namespace strata::jinja
