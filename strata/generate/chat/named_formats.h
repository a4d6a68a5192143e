// Chat templates of our own for formats that many models share, by name: for files that have no
// template or a wrong one. Each is a file of the folder named/; docs/design/jinja.md says whose
// format it is.
#ifndef STRATA_GENERATE_CHAT_NAMED_FORMATS_H_
#define STRATA_GENERATE_CHAT_NAMED_FORMATS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

struct NamedFormat {
  absl::string_view name;           // "chatml".
  absl::string_view chat_template;  // Jinja.
};

absl::Span<const NamedFormat> NamedFormats();

// Null if there is none of that name.
const NamedFormat* FindNamedFormat(absl::string_view name);

// "chatml, llama3, ...".
std::string NamedFormatNames();

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_NAMED_FORMATS_H_
