// Values as JSON, exactly as Python's json.dumps writes it.
#ifndef STRATA_GENERATE_CHAT_JINJA_JSON_DUMP_H_
#define STRATA_GENERATE_CHAT_JINJA_JSON_DUMP_H_

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct JsonOptions {
  bool ascii_only = false;
  bool sorts_keys = false;
  absl::optional<MarkedText> indent;  // Of one level; without it all is one line.
  MarkedText item_separator = MarkedText(", ");
  MarkedText key_separator = MarkedText(": ");
};

// What belongs to a container is content if the container is. An error for what JSON cannot say.
absl::StatusOr<MarkedText> DumpJson(const Value& value, const JsonOptions& options, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_JSON_DUMP_H_
