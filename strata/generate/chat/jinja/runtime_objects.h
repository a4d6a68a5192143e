// Objects that only a running template has: they change, or they belong to a run.
//
// Namespaces and macros are kept by the run's Heap, since they may refer to themselves; values name
// them. All die with the run.
#ifndef STRATA_GENERATE_CHAT_JINJA_RUNTIME_OBJECTS_H_
#define STRATA_GENERATE_CHAT_JINJA_RUNTIME_OBJECTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct RangeObject : Object {
  RangeObject(int64_t start, int64_t stop, int64_t step)
      : Object(nullptr, 0, 0), start(start), stop(stop), step(step) {}

  int64_t size() const;
  int64_t at(int64_t index) const { return start + index * step; }

  const int64_t start;
  const int64_t stop;
  const int64_t step;
};

struct DictViewObject : Object {
  enum class Part { kKeys, kValues, kItems };

  DictViewObject(Value dict, Part part)
      : Object(nullptr, 0, dict.depth() + 1), dict(std::move(dict)), part(part) {}

  const Value dict;
  const Part part;
};

// What a filter like `map` gives: items to be taken once, and then perhaps an error. A loop with a
// condition finds its items as it goes.
struct IteratorObject : Object {
  // The next item; missing at the end.
  using Find = std::function<absl::StatusOr<Value>()>;

  IteratorObject(std::vector<Value> items, absl::Status end, Budget* budget);

  std::vector<Value> items;
  size_t next = 0;
  const absl::Status end;
  Find find;  // What comes after `items`; null if nothing does.
};

struct CyclerObject : Object {
  explicit CyclerObject(Value items)
      : Object(nullptr, 0, items.depth() + 1), items(std::move(items)) {}

  const Value items;  // A tuple, not empty.
  size_t next = 0;
};

struct JoinerObject : Object {
  JoinerObject(Value separator, Budget* budget)
      : Object(budget, sizeof(JoinerObject), separator.depth() + 1),
        separator(std::move(separator)) {}

  const Value separator;
  bool is_used = false;
};

// A function of the environment, such as range.
enum class Function {
  kRange,
  kDict,
  kNamespace,
  kCycler,
  kJoiner,
  kRaiseException,
  kStrftimeNow,
};

struct FunctionObject : Object {
  explicit FunctionObject(Function function) : Object(nullptr, 0, 0), function(function) {}

  const Function function;
};

// A method of a value, not called yet.
struct MethodObject : Object {
  MethodObject(Value self, std::string name)
      : Object(nullptr, 0, self.depth() + 1), self(std::move(self)), name(std::move(name)) {}

  const Value self;
  const std::string name;
};

// Attributes in the order in which they were set.
struct NamespaceObject {
  const Value* Find(absl::string_view name) const;
  void Set(absl::string_view name, Value value);

  std::vector<std::pair<std::string, Value>> attributes;
  bool names_are_content = false;  // Some are.
};

// Names an object that the run's heap keeps.
template <typename T>
struct HeapReference : Object {
  explicit HeapReference(T& target) : Object(nullptr, 0, 0), target(target) {}

  T& target;
};

using NamespaceReference = HeapReference<NamespaceObject>;

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_RUNTIME_OBJECTS_H_
