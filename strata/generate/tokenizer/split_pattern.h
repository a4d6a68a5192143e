// The regular expressions with which models' makers cut text before byte-pair merging, run as they
// are published.
//
// The subset those patterns use: alternatives tried in order, greedy `?`, `*`, `+`, `{m,n}` (also
// possessive: `?+`, `++`) on a character or class, classes with `\p{..}`, `\s`, ranges, `^` and
// `&&[..]`, a group `(?:..)` or `(?i:..)` at the end of an alternative (greedy repetition included),
// `(?!..)` of one class, `$`.
// `(?i:` is Unicode's: besides the two ASCII cases, "s" matches U+017F and "k" U+212A.
//
// Time is linear in the text for the patterns in use: an alternative that failed inside a run of
// its first class is not tried again in that run. Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_SPLIT_PATTERN_H_
#define STRATA_GENERATE_TOKENIZER_SPLIT_PATTERN_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/generate/tokenizer/code_point_set.h"

namespace strata {

class SplitPattern {
 public:
  // CHECKs that `pattern`, UTF-8, lies in the subset: patterns are ours, never a file's.
  explicit SplitPattern(absl::string_view pattern);

  // Appends to `ends` the end of every piece of `text`: each match is a piece, and so is each
  // longest run between matches. The ends count from `text_start`.
  void Split(absl::Span<const char32_t> text, size_t text_start, std::vector<size_t>& ends) const;

 private:
  friend class SplitPatternParser;

  struct Atom;
  using Sequence = std::vector<Atom>;
  struct Atom {
    enum class Kind { kSet, kGroup, kNotFollowedBy, kEndOfText };
    static constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

    Kind kind = Kind::kSet;
    CodePointSet set;                    // Of kSet and kNotFollowedBy.
    std::vector<Sequence> alternatives;  // Of kGroup, which is the last atom of its sequence.
    size_t min = 1;
    size_t max = 1;
    bool possessive = false;
  };
  using Text = absl::Span<const char32_t>;

  // The end of the match of `atoms` at `at`, if there is one.
  static std::optional<size_t> Match(absl::Span<const Atom> atoms, Text text, size_t at);
  static std::optional<size_t> MatchRepeatedSet(absl::Span<const Atom> atoms, Text text, size_t at);
  static std::optional<size_t> MatchRepeatedGroup(const Atom& group, Text text, size_t at);
  static size_t EndOfRun(const Atom& atom, Text text, size_t at);

  std::vector<Sequence> alternatives_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_SPLIT_PATTERN_H_
