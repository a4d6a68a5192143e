// Goes through the items of any value that Python can iterate over.
#ifndef STRATA_GENERATE_CHAT_JINJA_CURSOR_H_
#define STRATA_GENERATE_CHAT_JINJA_CURSOR_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// Items of a generator are taken from it. Thread-compatible.
class Cursor {
 public:
  // An error if `value` cannot be iterated over.
  static absl::StatusOr<Cursor> Over(const Value& value, Budget& budget);

  // The next item; a missing value at the end.
  absl::StatusOr<Value> Next();

 private:
  Cursor(Value value, Budget& budget) : value_(std::move(value)), budget_(&budget) {}

  Value value_;
  Budget* budget_;
  size_t next_ = 0;  // In bytes of a string.
};

bool IsIterable(const Value& value);

// All that is left of it.
absl::StatusOr<std::vector<Value>> ItemsOf(const Value& value, Budget& budget);

// Python's len(): an error for what has none, such as a generator.
absl::StatusOr<int64_t> LengthOf(const Value& value);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_CURSOR_H_
