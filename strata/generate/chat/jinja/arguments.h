// The arguments of a call in a template, and how parameters get them.
#ifndef STRATA_GENERATE_CHAT_JINJA_ARGUMENTS_H_
#define STRATA_GENERATE_CHAT_JINJA_ARGUMENTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  // Some names are: those that come from a dict of content. Keys made of names are content then.
  bool names_are_content = false;

  bool empty() const { return positional.empty() && named.empty(); }
};

// A value for each of `parameters`, missing where none is given. An error for too many arguments,
// for an unknown name, for one given twice and when one of the first `num_required` is missing.
// `function` is named in errors.
absl::StatusOr<std::vector<Value>> Bind(absl::string_view function, const Arguments& arguments,
                                        absl::Span<const absl::string_view> parameters,
                                        size_t num_required = 0);

// An integer that may be missing or none; an error for anything else.
absl::StatusOr<int64_t> IntOr(const Value& value, int64_t otherwise, absl::string_view what);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_ARGUMENTS_H_
