#include "strata/generate/chat/jinja/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace strata::jinja {

absl::StatusOr<std::vector<Value>> Bind(absl::string_view function, const Arguments& arguments,
                                        absl::Span<const absl::string_view> parameters,
                                        size_t num_required) {
  if (arguments.positional.size() > parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(function, " takes at most ", parameters.size(),
                                                   " arguments and was given ",
                                                   arguments.positional.size()));
  }
  std::vector<Value> bound = arguments.positional;
  bound.resize(parameters.size());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end()) {
      return absl::InvalidArgumentError(absl::StrCat(function, " has no argument '", name, "'"));
    }
    Value& place = bound[static_cast<size_t>(found - parameters.begin())];
    if (!place.IsMissing()) {
      return absl::InvalidArgumentError(absl::StrCat(function, " was given '", name, "' twice"));
    }
    place = value;
  }
  for (size_t i = 0; i < num_required; ++i) {
    if (bound[i].IsMissing()) {
      return absl::InvalidArgumentError(
          absl::StrCat(function, " was not given '", parameters[i], "'"));
    }
  }
  return bound;
}

absl::StatusOr<int64_t> IntOr(const Value& value, int64_t otherwise, absl::string_view what) {
  if (value.IsMissing() || value.IsNone()) return otherwise;
  if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
  if (!value.IsIntegral()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is to be an integer and is a ", TypeName(value)));
  }
  return value.int_value();
}

}  // namespace strata::jinja
