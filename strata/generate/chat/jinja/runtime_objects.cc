#include "strata/generate/chat/jinja/runtime_objects.h"

#include <algorithm>

namespace strata::jinja {
namespace {

int DepthOver(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth + 1;
}

}  // namespace

int64_t RangeObject::size() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  // Without the overflow of ends that are far apart.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return static_cast<int64_t>(std::min<uint64_t>((distance - 1) / stride, INT64_MAX - 1) + 1);
}

IteratorObject::IteratorObject(std::vector<Value> items, absl::Status end, Budget* budget)
    : Object(budget, static_cast<int64_t>(items.size() * sizeof(Value)), DepthOver(items)),
      items(std::move(items)),
      end(std::move(end)) {}

const Value* NamespaceObject::Find(absl::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

void NamespaceObject::Set(absl::string_view name, Value value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
}

}  // namespace strata::jinja
