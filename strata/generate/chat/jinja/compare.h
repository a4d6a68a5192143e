// How Python compares values. Marks of content make no difference.
#ifndef STRATA_GENERATE_CHAT_JINJA_COMPARE_H_
#define STRATA_GENERATE_CHAT_JINJA_COMPARE_H_

#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

bool IsTrue(const Value& value);

// a == b. False as well when the budget ends before that is known.
bool AreEqual(const Value& a, const Value& b, Budget& budget);

// a < b; an error for values that have no order.
absl::StatusOr<bool> IsLess(const Value& a, const Value& b, Budget& budget);
absl::StatusOr<bool> IsLessOrEqual(const Value& a, const Value& b, Budget& budget);

// item in container.
absl::StatusOr<bool> Contains(const Value& container, const Value& item, Budget& budget);

// A stable sort by `keys`, which has one key for each item; `reverse` keeps equal items in order.
absl::StatusOr<std::vector<Value>> SortedBy(const std::vector<Value>& items,
                                            const std::vector<Value>& keys, bool reverse,
                                            Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_COMPARE_H_
