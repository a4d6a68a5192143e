// Reads the text of a SplitPattern. Used by SplitPattern alone.
#ifndef STRATA_GENERATE_TOKENIZER_SPLIT_PATTERN_PARSER_H_
#define STRATA_GENERATE_TOKENIZER_SPLIT_PATTERN_PARSER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/code_point_set.h"
#include "strata/generate/tokenizer/split_pattern.h"

namespace strata {

class SplitPatternParser {
 public:
  explicit SplitPatternParser(absl::string_view pattern);

  std::vector<SplitPattern::Sequence> Parse();

 private:
  using Atom = SplitPattern::Atom;
  using Sequence = SplitPattern::Sequence;

  std::vector<Sequence> ParseAlternatives();
  Sequence ParseSequence();
  Atom ParseAtom();
  Atom ParseGroup();          // After "(".
  CodePointSet ParseSet();    // A class, a property or one character.
  CodePointSet ParseClass();  // After "[".
  // Takes `\p{..}` or `\s` into `set`, if that comes next.
  bool AddEscapedProperty(CodePointSet& set);
  char32_t ParseCharacter();
  void AddCharacter(char32_t character, CodePointSet& set) const;
  void ParseRepetition(Atom& atom);
  size_t ParseNumber();

  bool AtEnd() const { return rest_.empty(); }
  bool LooksAt(absl::string_view token) const;
  bool Take(absl::string_view token);

  const absl::string_view pattern_;
  absl::string_view rest_;
  bool ignores_case_ = false;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_SPLIT_PATTERN_PARSER_H_
