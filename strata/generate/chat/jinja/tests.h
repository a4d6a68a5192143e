// The tests that `is` asks: Jinja's own.
#ifndef STRATA_GENERATE_CHAT_JINJA_TESTS_H_
#define STRATA_GENERATE_CHAT_JINJA_TESTS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

bool IsTest(absl::string_view name);

// An error if there is no such test.
absl::StatusOr<bool> ApplyTest(absl::string_view name, const Value& value,
                               const Arguments& arguments, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_TESTS_H_
