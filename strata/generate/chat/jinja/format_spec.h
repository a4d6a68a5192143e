// How one value is written into a width, by % formatting and by str.format.
#ifndef STRATA_GENERATE_CHAT_JINJA_FORMAT_SPEC_H_
#define STRATA_GENERATE_CHAT_JINJA_FORMAT_SPEC_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct FormatSpec {
  std::string fill = " ";  // One character.
  char align = 0;          // <, >, ^, = (fill after the sign); 0: as the type has it.
  char sign = '-';         // -, + or a space.
  bool is_alternate = false;
  char grouping = 0;  // "," or "_" between thousands; 0: nothing.
  int64_t width = 0;
  int64_t precision = -1;  // Not given.
  char type = 0;           // d, x, f, ...; 0: as the value has it.
};

// Python's format specification: ">10", ",.2f".
absl::StatusOr<FormatSpec> ParseFormatSpec(absl::string_view text);

// `value` is a number; integers with a float type become floats. Numbers are content if the value
// is.
absl::StatusOr<MarkedText> FormatNumber(const Value& value, const FormatSpec& spec, Budget& budget);
// Cut to the precision and put into the width.
absl::StatusOr<MarkedText> FormatString(const MarkedText& text, const FormatSpec& spec,
                                        Budget& budget);

// The first `num_characters` of `text`.
MarkedText FirstCharacters(const MarkedText& text, int64_t num_characters);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_FORMAT_SPEC_H_
