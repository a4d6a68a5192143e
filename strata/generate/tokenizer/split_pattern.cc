#include "strata/generate/tokenizer/split_pattern.h"

#include <utility>

#include "strata/generate/tokenizer/split_pattern_parser.h"

namespace strata {

SplitPattern::SplitPattern(absl::string_view pattern)
    : alternatives_(SplitPatternParser(pattern).Parse()) {}

void SplitPattern::Split(Text text, size_t text_start, std::vector<size_t>& ends) const {
  // For each alternative, up to where it is known to fail.
  std::vector<size_t> fails_before(alternatives_.size(), 0);
  const auto first_match = [&](size_t at) -> std::optional<size_t> {
    for (size_t i = 0; i < alternatives_.size(); ++i) {
      if (at < fails_before[i]) continue;
      if (std::optional<size_t> end = Match(alternatives_[i], text, at); end && *end > at) {
        return end;
      }
      const Atom& first = alternatives_[i].front();
      if (first.kind == Atom::Kind::kSet && first.max == Atom::kUnbounded && first.min <= 1) {
        fails_before[i] = EndOfRun(first, text, at);
      }
    }
    return std::nullopt;
  };

  size_t piece_start = 0;
  for (size_t at = 0; at < text.size();) {
    const std::optional<size_t> end = first_match(at);
    if (!end) {
      ++at;
      continue;
    }
    if (piece_start < at) ends.push_back(text_start + at);
    ends.push_back(text_start + *end);
    piece_start = at = *end;
  }
  if (piece_start < text.size()) ends.push_back(text_start + text.size());
}

std::optional<size_t> SplitPattern::Match(absl::Span<const Atom> atoms, Text text, size_t at) {
  if (atoms.empty()) return at;
  const Atom& atom = atoms.front();
  switch (atom.kind) {
    case Atom::Kind::kSet:
      return MatchRepeatedSet(atoms, text, at);
    case Atom::Kind::kGroup:
      return MatchRepeatedGroup(atom, text, at);
    case Atom::Kind::kNotFollowedBy:
      if (at < text.size() && atom.set.Contains(text[at])) return std::nullopt;
      return Match(atoms.subspan(1), text, at);
    case Atom::Kind::kEndOfText:
      if (at < text.size()) return std::nullopt;
      return Match(atoms.subspan(1), text, at);
  }
  return std::nullopt;
}

// Nothing follows a group, so no fewer repetitions can ever be called for.
std::optional<size_t> SplitPattern::MatchRepeatedGroup(const Atom& group, Text text, size_t at) {
  size_t count = 0;
  for (; count < group.max; ++count) {
    std::optional<size_t> end;
    for (const Sequence& alternative : group.alternatives) {
      end = Match(alternative, text, at);
      if (end) break;
    }
    if (!end || *end == at) break;
    at = *end;
  }
  return count >= group.min ? std::optional<size_t>(at) : std::nullopt;
}

std::optional<size_t> SplitPattern::MatchRepeatedSet(absl::Span<const Atom> atoms, Text text,
                                                     size_t at) {
  const Atom& atom = atoms.front();
  size_t end = EndOfRun(atom, text, at);
  while (end - at >= atom.min) {
    if (std::optional<size_t> match = Match(atoms.subspan(1), text, end)) return match;
    if (atom.possessive || end == at) break;
    --end;
  }
  return std::nullopt;
}

size_t SplitPattern::EndOfRun(const Atom& atom, Text text, size_t at) {
  size_t end = at;
  while (end < text.size() && end - at < atom.max && atom.set.Contains(text[end])) ++end;
  return end;
}

}  // namespace strata
