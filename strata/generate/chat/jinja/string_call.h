// What the methods of strings share; methods.h is the way to call them.
#ifndef STRATA_GENERATE_CHAT_JINJA_STRING_CALL_H_
#define STRATA_GENERATE_CHAT_JINJA_STRING_CALL_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// What a method is called with.
struct StringCall {
  const Value& self;
  absl::string_view name;
  const Arguments& arguments;
  Budget& budget;

  const MarkedText& text() const { return self.marked_text(); }
  Value Result(MarkedText text) const { return Value::StringLike(self, std::move(text), &budget); }
  absl::Status WrongType(const Value& value) const {
    if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
    return absl::InvalidArgumentError(absl::StrCat("str.", name, " is given a ", TypeName(value)));
  }
  // The arguments that str methods take by position alone.
  absl::StatusOr<std::vector<Value>> Positional(absl::Span<const absl::string_view> parameters,
                                                size_t num_required) const {
    if (!arguments.named.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("str.", name, " takes no named argument"));
    }
    return Bind(name, arguments, parameters, num_required);
  }
};

// string_layout.cc: ljust, rjust, center; zfill; expandtabs.
absl::StatusOr<Value> Justify(const StringCall& call);
absl::StatusOr<Value> ZeroFill(const StringCall& call);
absl::StatusOr<Value> ExpandTabs(const StringCall& call);

// string_classes.cc: isalpha and its like.
absl::StatusOr<Value> ClassifyString(const StringCall& call);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_STRING_CALL_H_
