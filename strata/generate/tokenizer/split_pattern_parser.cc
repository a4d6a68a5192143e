#include "strata/generate/tokenizer/split_pattern_parser.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "strata/core/utf8.h"

namespace strata {

SplitPatternParser::SplitPatternParser(absl::string_view pattern)
    : pattern_(pattern), rest_(pattern) {}

std::vector<SplitPattern::Sequence> SplitPatternParser::Parse() {
  std::vector<Sequence> alternatives = ParseAlternatives();
  CHECK(AtEnd()) << pattern_ << " from " << rest_;
  return alternatives;
}

std::vector<SplitPattern::Sequence> SplitPatternParser::ParseAlternatives() {
  std::vector<Sequence> alternatives;
  do {
    alternatives.push_back(ParseSequence());
  } while (Take("|"));
  return alternatives;
}

SplitPattern::Sequence SplitPatternParser::ParseSequence() {
  Sequence sequence;
  while (!AtEnd() && !LooksAt("|") && !LooksAt(")")) {
    CHECK(sequence.empty() || sequence.back().kind != Atom::Kind::kGroup) << pattern_;
    sequence.push_back(ParseAtom());
  }
  CHECK(!sequence.empty()) << pattern_;
  return sequence;
}

SplitPattern::Atom SplitPatternParser::ParseAtom() {
  Atom atom;
  if (Take("$")) {
    atom.kind = Atom::Kind::kEndOfText;
    return atom;
  }
  if (Take("(")) {
    atom = ParseGroup();
  } else {
    atom.set = ParseSet();
  }
  ParseRepetition(atom);
  return atom;
}

SplitPattern::Atom SplitPatternParser::ParseGroup() {
  Atom atom;
  if (Take("?!")) {
    atom.kind = Atom::Kind::kNotFollowedBy;
    atom.set = ParseSet();
  } else {
    atom.kind = Atom::Kind::kGroup;
    ignores_case_ = Take("?i:");
    CHECK(ignores_case_ || Take("?:")) << pattern_;
    atom.alternatives = ParseAlternatives();
    ignores_case_ = false;
  }
  CHECK(Take(")")) << pattern_;
  return atom;
}

CodePointSet SplitPatternParser::ParseSet() {
  if (Take("[")) return ParseClass();
  CodePointSet set;
  if (Take("\\S")) {
    set.AddWhiteSpace();
    set.Complement();
  } else if (!AddEscapedProperty(set)) {
    AddCharacter(ParseCharacter(), set);
  }
  set.Freeze();
  return set;
}

CodePointSet SplitPatternParser::ParseClass() {
  CodePointSet set;
  const bool complemented = Take("^");
  while (!Take("]")) {
    if (Take("&&[")) {
      set.IntersectWith(ParseClass());
    } else if (!AddEscapedProperty(set)) {
      const char32_t first = ParseCharacter();
      if (Take("-")) {
        set.AddRange(first, ParseCharacter());
      } else {
        AddCharacter(first, set);
      }
    }
  }
  if (complemented) set.Complement();
  set.Freeze();
  return set;
}

bool SplitPatternParser::AddEscapedProperty(CodePointSet& set) {
  if (Take("\\s")) {
    set.AddWhiteSpace();
    return true;
  }
  if (!Take("\\p{")) return false;
  const size_t length = rest_.find('}');
  CHECK(length != absl::string_view::npos && set.AddProperty(rest_.substr(0, length)))
      << pattern_ << " at " << rest_;
  rest_.remove_prefix(length + 1);
  return true;
}

char32_t SplitPatternParser::ParseCharacter() {
  if (Take("\\r")) return '\r';
  if (Take("\\n")) return '\n';
  if (Take("\\t")) return '\t';
  Take("\\");
  CHECK(!AtEnd()) << pattern_;
  const Utf8Character character = FirstUtf8Character(rest_);
  CHECK(character.status == Utf8Character::Status::kWellFormed) << pattern_;
  rest_.remove_prefix(character.num_bytes);
  return character.code_point;
}

void SplitPatternParser::AddCharacter(char32_t character, CodePointSet& set) const {
  set.AddRange(character, character);
  if (!ignores_case_ || character > 'z' || !absl::ascii_isalpha(static_cast<char>(character))) {
    return;
  }
  const char32_t other_case = character ^ 0x20;
  set.AddRange(other_case, other_case);
  const char32_t lower = character | 0x20;
  if (lower == 's') set.AddRange(0x17F, 0x17F);
  if (lower == 'k') set.AddRange(0x212A, 0x212A);
}

void SplitPatternParser::ParseRepetition(Atom& atom) {
  if (Take("?")) {
    atom.min = 0;
  } else if (Take("*")) {
    atom.min = 0;
    atom.max = Atom::kUnbounded;
  } else if (Take("+")) {
    atom.max = Atom::kUnbounded;
  } else if (Take("{")) {
    atom.min = atom.max = ParseNumber();
    if (Take(",")) atom.max = ParseNumber();
    CHECK(Take("}")) << pattern_;
  } else {
    return;
  }
  atom.possessive = Take("+");
}

size_t SplitPatternParser::ParseNumber() {
  size_t number = 0;
  while (!AtEnd() && absl::ascii_isdigit(rest_.front())) {
    number = number * 10 + static_cast<size_t>(rest_.front() - '0');
    rest_.remove_prefix(1);
  }
  return number;
}

bool SplitPatternParser::LooksAt(absl::string_view token) const {
  return absl::StartsWith(rest_, token);
}

bool SplitPatternParser::Take(absl::string_view token) {
  return absl::ConsumePrefix(&rest_, token);
}

}  // namespace strata
