// What `value.name`, `value[key]` and `value[a:b]` are, in the sandbox that chat templates run in.
#ifndef STRATA_GENERATE_CHAT_JINJA_ATTRIBUTES_H_
#define STRATA_GENERATE_CHAT_JINJA_ATTRIBUTES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// A method or an attribute, else an item of that key, else an undefined value. A method that would
// change a list or a dict is undefined. An error if `value` is undefined itself.
absl::StatusOr<Value> GetAttribute(const Value& value, absl::string_view name, Budget& budget);

// An item, else an attribute of that name, else an undefined value.
absl::StatusOr<Value> GetItem(const Value& value, const Value& key, Budget& budget);

// value[start:stop:step]; missing or none is Python's default.
absl::StatusOr<Value> GetSlice(const Value& value, const Value& start, const Value& stop,
                               const Value& step, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_ATTRIBUTES_H_
