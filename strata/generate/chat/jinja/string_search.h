// Splitting and replacing in texts that are marked.
#ifndef STRATA_GENERATE_CHAT_JINJA_STRING_SEARCH_H_
#define STRATA_GENERATE_CHAT_JINJA_STRING_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"

namespace strata::jinja {

// At most `limit` splits, all if negative. `separator` is not empty.
std::vector<MarkedText> SplitAt(const MarkedText& text, absl::string_view separator, int64_t limit);
std::vector<MarkedText> SplitAtFromRight(const MarkedText& text, absl::string_view separator,
                                         int64_t limit);
// At runs of white space; none at the ends.
std::vector<MarkedText> SplitAtSpace(const MarkedText& text, int64_t limit);
std::vector<MarkedText> SplitAtSpaceFromRight(const MarkedText& text, int64_t limit);
// str.splitlines.
std::vector<MarkedText> SplitLines(const MarkedText& text, bool keeps_ends);

// At most `limit` replacements, all if negative; an empty `from` is between all characters.
absl::StatusOr<MarkedText> Replace(const MarkedText& text, absl::string_view from,
                                   const MarkedText& to, int64_t limit, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_STRING_SEARCH_H_
