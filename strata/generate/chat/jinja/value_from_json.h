// Values from JSON: messages, tools and template arguments.
#ifndef STRATA_GENERATE_CHAT_JINJA_VALUE_FROM_JSON_H_
#define STRATA_GENERATE_CHAT_JINJA_VALUE_FROM_JSON_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// In the order of the file. All of it is content if `is_content`. An error for a number that does
// not fit into 64 bits and for nesting beyond kMaxValueDepth.
absl::StatusOr<Value> ValueFromJson(const nlohmann::ordered_json& json, bool is_content);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_VALUE_FROM_JSON_H_
