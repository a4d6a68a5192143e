// The filters of the environment that chat templates run in: Jinja's own, with `tojson` as chat
// templates have it (no escaping for HTML).
#ifndef STRATA_GENERATE_CHAT_JINJA_FILTERS_H_
#define STRATA_GENERATE_CHAT_JINJA_FILTERS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

bool IsFilter(absl::string_view name);

// An error if there is no such filter.
absl::StatusOr<Value> ApplyFilter(absl::string_view name, const Value& input,
                                  const Arguments& arguments, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_FILTERS_H_
