// Values as text, exactly as Python prints them.
#ifndef STRATA_GENERATE_CHAT_JINJA_PYTHON_TEXT_H_
#define STRATA_GENERATE_CHAT_JINJA_PYTHON_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// str(value): the text itself of a string, repr of everything else; an undefined value is empty. An
// error for what Python would print with an address in memory.
absl::StatusOr<MarkedText> TextOf(const Value& value, Budget& budget);
// The same as a value; strings that are markup stay so.
absl::StatusOr<Value> SoftString(const Value& value, Budget& budget);
// repr(value).
absl::StatusOr<MarkedText> ReprOf(const Value& value, Budget& budget);

// The shortest text that reads back as `number`: "1.0", "1e+16", "inf".
std::string FloatText(double number);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_PYTHON_TEXT_H_
