// The methods of strings, lists, tuples and dicts, and those of the environment's own objects.
#ifndef STRATA_GENERATE_CHAT_JINJA_METHODS_H_
#define STRATA_GENERATE_CHAT_JINJA_METHODS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

enum class MethodKind {
  kNone,  // There is no method of that name.
  kCallable,
  kChanges,  // It would change a list or a dict: the sandbox refuses it.
};

MethodKind FindMethod(const Value& self, absl::string_view name);

// `name` is a callable method of `self`.
absl::StatusOr<Value> CallMethod(const Value& self, absl::string_view name,
                                 const Arguments& arguments, Budget& budget);

// str.`name`, for methods and for filters that are one.
absl::StatusOr<Value> CallStringMethod(const Value& self, absl::string_view name,
                                       const Arguments& arguments, Budget& budget);
bool IsStringMethod(absl::string_view name);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_METHODS_H_
