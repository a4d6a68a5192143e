#include "strata/generate/chat/jinja/methods.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/loop_object.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {
namespace {

using NameSet = absl::flat_hash_set<absl::string_view>;

MethodKind FindListMethod(absl::string_view name) {
  static const NameSet& changing =
      *new NameSet{"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
  if (changing.contains(name)) return MethodKind::kChanges;
  return name == "count" || name == "index" || name == "copy" ? MethodKind::kCallable
                                                              : MethodKind::kNone;
}

MethodKind FindDictMethod(absl::string_view name) {
  static const NameSet& changing = *new NameSet{"clear", "pop", "popitem", "setdefault", "update"};
  static const NameSet& callable = *new NameSet{"copy", "get", "items", "keys", "values"};
  if (changing.contains(name)) return MethodKind::kChanges;
  return callable.contains(name) ? MethodKind::kCallable : MethodKind::kNone;
}

Value ViewOf(const Value& dict, DictViewObject::Part part) {
  return Value::OfObject(Value::Kind::kDictView, std::make_shared<DictViewObject>(dict, part));
}

absl::StatusOr<Value> CallDictMethod(const Value& self, absl::string_view name,
                                     const Arguments& arguments, Budget& budget) {
  if (name == "get") {
    if (!arguments.named.empty()) return absl::InvalidArgumentError("get takes no named argument");
    ASSIGN_OR_RETURN(const std::vector<Value> bound, Bind("get", arguments, {"key", "default"}, 1));
    if (bound[0].IsString()) budget.HandleBytes(static_cast<int64_t>(bound[0].text().size()));
    std::string text;
    if (!HashText(bound[0], text)) {
      return absl::InvalidArgumentError(absl::StrCat(TypeName(bound[0]), " cannot be a key"));
    }
    if (const Value* const found = self.dict().Find(bound[0])) return *found;
    return bound[1].IsMissing() ? Value::None() : bound[1];
  }
  if (!arguments.empty())
    return absl::InvalidArgumentError(absl::StrCat(name, " takes no argument"));
  if (name == "items") return ViewOf(self, DictViewObject::Part::kItems);
  if (name == "keys") return ViewOf(self, DictViewObject::Part::kKeys);
  if (name == "values") return ViewOf(self, DictViewObject::Part::kValues);
  return self;  // A copy of what never changes.
}

absl::StatusOr<Value> CallSequenceMethod(const Value& self, absl::string_view name,
                                         const Arguments& arguments, Budget& budget) {
  if (!arguments.named.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " takes no named argument"));
  }
  if (name == "copy") {
    if (!arguments.empty()) return absl::InvalidArgumentError("copy takes no argument");
    return self;
  }
  ASSIGN_OR_RETURN(const std::vector<Value> bound,
                   Bind(name, arguments, {"value", "start", "stop"}, 1));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(self, budget));
  const auto size = static_cast<int64_t>(items.size());
  ASSIGN_OR_RETURN(int64_t start, IntOr(bound[1], 0, "start"));
  ASSIGN_OR_RETURN(int64_t stop, IntOr(bound[2], size, "stop"));
  if (start < 0) start = std::max<int64_t>(0, start + size);
  if (stop < 0) stop += size;
  int64_t count = 0;
  for (int64_t i = start; i < std::min(stop, size); ++i) {
    const bool is_equal = AreEqual(items[static_cast<size_t>(i)], bound[0], budget);
    if (!budget.ok()) return budget.status();
    if (is_equal && name == "index") return Value::Int(i);
    if (is_equal) ++count;
  }
  if (name == "index") return absl::InvalidArgumentError("index: the value is not in the list");
  return Value::Int(count);
}

absl::StatusOr<Value> CallLoopMethod(const Value& self, absl::string_view name,
                                     const Arguments& arguments, Budget& budget) {
  if (!arguments.named.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("loop.", name, " takes no named argument"));
  }
  LoopObject& loop = self.object<LoopObject>();
  if (name == "changed") {
    return Value::Bool(loop.HasChanged(Value::Tuple(arguments.positional, &budget), budget));
  }
  const std::vector<Value>& values = arguments.positional;
  if (values.empty()) return absl::InvalidArgumentError("loop.cycle is given no values");
  return values[static_cast<size_t>(loop.index0()) % values.size()];
}

}  // namespace

MethodKind FindMethod(const Value& self, absl::string_view name) {
  const auto if_any = [&](bool is_one) {
    return is_one ? MethodKind::kCallable : MethodKind::kNone;
  };
  switch (self.kind()) {
    case Value::Kind::kString:
      return if_any(IsStringMethod(name));
    case Value::Kind::kList:
      return FindListMethod(name);
    case Value::Kind::kTuple:
    case Value::Kind::kRange:
      return if_any(name == "count" || name == "index");
    case Value::Kind::kDict:
      return FindDictMethod(name);
    case Value::Kind::kLoop:
      return if_any(name == "cycle" || name == "changed");
    case Value::Kind::kCycler:
      return if_any(name == "next" || name == "reset");
    default:
      return MethodKind::kNone;
  }
}

absl::StatusOr<Value> CallMethod(const Value& self, absl::string_view name,
                                 const Arguments& arguments, Budget& budget) {
  switch (self.kind()) {
    case Value::Kind::kString:
      return CallStringMethod(self, name, arguments, budget);
    case Value::Kind::kDict:
      return CallDictMethod(self, name, arguments, budget);
    case Value::Kind::kLoop:
      return CallLoopMethod(self, name, arguments, budget);
    case Value::Kind::kCycler: {
      if (!arguments.empty()) return absl::InvalidArgumentError("a cycler takes no arguments");
      CyclerObject& cycler = self.object<CyclerObject>();
      if (name == "reset") {
        cycler.next = 0;
        return Value::None();
      }
      const Value current = cycler.items.items()[cycler.next];
      cycler.next = (cycler.next + 1) % cycler.items.items().size();
      return current;
    }
    default:
      return CallSequenceMethod(self, name, arguments, budget);
  }
}

}  // namespace strata::jinja
