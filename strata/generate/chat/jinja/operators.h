// Python's arithmetic on values.
#ifndef STRATA_GENERATE_CHAT_JINJA_OPERATORS_H_
#define STRATA_GENERATE_CHAT_JINJA_OPERATORS_H_

#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

enum class Operator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

// Numbers, and texts and lists where Python has the operation for them. Integers have 64 bits: an
// error where Python's would be larger.
absl::StatusOr<Value> Apply(Operator op, const Value& a, const Value& b, Budget& budget);

absl::StatusOr<Value> Negate(const Value& value);
// +value.
absl::StatusOr<Value> Plus(const Value& value);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_OPERATORS_H_
