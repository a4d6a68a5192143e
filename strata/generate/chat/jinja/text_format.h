// Python's two ways to put values into a text: "%s" % value and "{}".format(value).
#ifndef STRATA_GENERATE_CHAT_JINJA_TEXT_FORMAT_H_
#define STRATA_GENERATE_CHAT_JINJA_TEXT_FORMAT_H_

#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// A format that is content, or partly so, chooses what of the values is written and in which order:
// all that it writes is content.

// format % values: a tuple has one value for each place, a dict those of "%(name)s", and anything
// else is the value of the only place. Texts are escaped for HTML if `format` is markup.
absl::StatusOr<Value> FormatPercent(const Value& format, const Value& values, Budget& budget);

// format.format(arguments): fields by number and name, with their attributes, items, conversions
// and specifications.
absl::StatusOr<Value> FormatBraces(const Value& format, const Arguments& arguments, Budget& budget);

// With &, <, >, " and ' as HTML entities; markup stays as it is.
absl::StatusOr<MarkedText> EscapedText(const Value& value, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_TEXT_FORMAT_H_
