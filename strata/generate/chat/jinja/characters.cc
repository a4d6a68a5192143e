#include "strata/generate/chat/jinja/characters.h"

#include <algorithm>
#include <string>

#include "absl/types/span.h"
#include "strata/core/utf8.h"
#include "strata/generate/chat/jinja/special_casing.h"
#include "unicode/uchar.h"

namespace strata::jinja {
namespace {

UChar32 Icu(char32_t code_point) { return static_cast<UChar32>(code_point); }

// ICU's derived properties need its data, 30 MB of it, which categories do not: what is beyond the
// categories is listed here (Unicode 14, as Debian's Python has it).
struct Range {
  char32_t first;
  char32_t last;
};

// Lowercase and not Ll.
constexpr Range kOtherLower[] = {
    {0x00AA, 0x00AA},   {0x00BA, 0x00BA},   {0x02B0, 0x02B8},   {0x02C0, 0x02C1},  {0x02E0, 0x02E4},
    {0x0345, 0x0345},   {0x037A, 0x037A},   {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},  {0x1D9B, 0x1DBF},
    {0x2071, 0x2071},   {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2170, 0x217F},  {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},  {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
// Uppercase and not Lu.
constexpr Range kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
// Digits and not Nd: superscripts, circled ones and their like.
constexpr Range kOtherDigits[] = {
    {0x00B2, 0x00B3},   {0x00B9, 0x00B9},   {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
// Ignored by the rule of the final sigma: marks inside words.
constexpr Range kOtherIgnorable[] = {
    {0x27, 0x27},     {0x2E, 0x2E},     {0x3A, 0x3A},     {0xB7, 0xB7},
    {0x387, 0x387},   {0x55F, 0x55F},   {0x5F4, 0x5F4},   {0x2018, 0x2019},
    {0x2024, 0x2024}, {0x2027, 0x2027}, {0xFE13, 0xFE13}, {0xFE52, 0xFE52},
    {0xFE55, 0xFE55}, {0xFF07, 0xFF07}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1A}};

bool IsIn(absl::Span<const Range> ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return c >= range.first && c <= range.last; });
}

enum class Case { kUpper, kLower, kTitle };

void AppendCased(const MarkedText& text, const Character& character, Case to, MarkedText& out) {
  std::string cased;
  const char32_t c = character.code_point;
  if (c < 0x80) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool flips = to == Case::kLower ? is_upper : is_lower;
    cased.push_back(static_cast<char>(flips ? c ^ 0x20 : c));
  } else if (const SpecialCasing* special = FindSpecialCasing(c);
             special != nullptr && to != Case::kLower) {
    for (const char32_t* at = to == Case::kUpper ? special->upper : special->title; *at != 0;
         ++at) {
      AppendUtf8(*at, cased);
    }
  } else if (to == Case::kLower) {
    AppendUtf8(static_cast<char32_t>(u_tolower(Icu(c))), cased);
    if (c == 0x130) AppendUtf8(0x307, cased);  // A capital I with a dot keeps the dot.
  } else if (to == Case::kUpper) {
    AppendUtf8(static_cast<char32_t>(u_toupper(Icu(c))), cased);
  } else {
    AppendUtf8(static_cast<char32_t>(u_totitle(Icu(c))), cased);
  }
  out.Append(cased, text.IsContentAt(character.begin));
}

bool IsCased(char32_t c) { return IsUpper(c) || IsLower(c) || IsTitle(c); }

bool IsCaseIgnorable(char32_t c) {
  switch (u_charType(Icu(c))) {
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK:
    case U_FORMAT_CHAR:
    case U_MODIFIER_LETTER:
    case U_MODIFIER_SYMBOL:
      return true;
    default:
      return IsIn(kOtherIgnorable, c);
  }
}

// Whether the sigma at `at` ends a word: a cased letter is before it and none after it.
bool IsFinalSigma(const std::vector<Character>& characters, size_t at) {
  size_t before = at;
  while (before > 0 && IsCaseIgnorable(characters[before - 1].code_point)) --before;
  if (before == 0 || !IsCased(characters[before - 1].code_point)) return false;
  size_t after = at + 1;
  while (after < characters.size() && IsCaseIgnorable(characters[after].code_point)) ++after;
  return after == characters.size() || !IsCased(characters[after].code_point);
}

void AppendLower(const MarkedText& text, const std::vector<Character>& characters, size_t at,
                 MarkedText& out) {
  const Character& character = characters[at];
  if (character.code_point == 0x3A3 && IsFinalSigma(characters, at)) {
    out.Append("\xCF\x82", text.IsContentAt(character.begin));
  } else {
    AppendCased(text, character, Case::kLower, out);
  }
}

}  // namespace

Character CharacterAt(absl::string_view text, size_t begin) {
  const auto first = static_cast<unsigned char>(text[begin]);
  if (first < 0x80) return {first, begin, begin + 1};
  const Utf8Character character = FirstUtf8Character(text.substr(begin, 4));
  return {character.code_point, begin, begin + character.num_bytes};
}

std::vector<Character> CharactersOf(absl::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  for (size_t at = 0; at < text.size(); at = characters.back().end) {
    characters.push_back(CharacterAt(text, at));
  }
  return characters;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsLineEnd(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool IsPrintable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (u_charType(Icu(c))) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_SURROGATE:
    case U_PRIVATE_USE_CHAR:
    case U_UNASSIGNED:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
    case U_SPACE_SEPARATOR:
      return false;
    default:
      return true;
  }
}

bool IsAlphabetic(char32_t c) { return u_isalpha(Icu(c)); }
bool IsDecimal(char32_t c) { return u_charType(Icu(c)) == U_DECIMAL_DIGIT_NUMBER; }

bool IsDigit(char32_t c) { return IsDecimal(c) || IsIn(kOtherDigits, c); }
bool IsNumeric(char32_t c) { return u_getNumericValue(Icu(c)) != U_NO_NUMERIC_VALUE; }

bool IsUpper(char32_t c) {
  return u_charType(Icu(c)) == U_UPPERCASE_LETTER || IsIn(kOtherUpper, c);
}

bool IsLower(char32_t c) {
  return u_charType(Icu(c)) == U_LOWERCASE_LETTER || IsIn(kOtherLower, c);
}

bool IsTitle(char32_t c) { return u_charType(Icu(c)) == U_TITLECASE_LETTER; }

bool IsWord(char32_t c) {
  return c == '_' || IsAlphabetic(c) || IsDecimal(c) || IsDigit(c) || IsNumeric(c);
}

bool StartsName(char32_t c) {
  if (c < 0x80) return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return u_isIDStart(Icu(c));
}

bool ContinuesName(char32_t c) {
  if (c < 0x80) return StartsName(c) || (c >= '0' && c <= '9');
  return u_isIDPart(Icu(c));
}

int DigitValue(char32_t c) { return u_charDigitValue(Icu(c)); }

size_t SkipSpace(absl::string_view text, size_t begin) {
  while (begin < text.size()) {
    const Character character = CharacterAt(text, begin);
    if (!IsSpace(character.code_point)) break;
    begin = character.end;
  }
  return begin;
}

size_t SkipSpaceBackwards(absl::string_view text, size_t end) {
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!IsSpace(CharacterAt(text, begin).code_point)) break;
    end = begin;
  }
  return end;
}

MarkedText Upper(const MarkedText& text) {
  MarkedText out;
  for (const Character& character : CharactersOf(text.text())) {
    AppendCased(text, character, Case::kUpper, out);
  }
  return out;
}

MarkedText Lower(const MarkedText& text) {
  MarkedText out;
  const std::vector<Character> characters = CharactersOf(text.text());
  for (size_t i = 0; i < characters.size(); ++i) AppendLower(text, characters, i, out);
  return out;
}

MarkedText SwapCase(const MarkedText& text) {
  MarkedText out;
  const std::vector<Character> characters = CharactersOf(text.text());
  for (size_t i = 0; i < characters.size(); ++i) {
    if (IsUpper(characters[i].code_point)) {
      AppendLower(text, characters, i, out);
    } else if (IsLower(characters[i].code_point)) {
      AppendCased(text, characters[i], Case::kUpper, out);
    } else {
      out.AppendPart(text, characters[i].begin, characters[i].end);
    }
  }
  return out;
}

MarkedText Capitalize(const MarkedText& text) {
  MarkedText out;
  const std::vector<Character> characters = CharactersOf(text.text());
  for (size_t i = 0; i < characters.size(); ++i) {
    if (i == 0) {
      AppendCased(text, characters[i], Case::kTitle, out);
    } else {
      AppendLower(text, characters, i, out);
    }
  }
  return out;
}

MarkedText Title(const MarkedText& text) {
  MarkedText out;
  const std::vector<Character> characters = CharactersOf(text.text());
  bool is_in_word = false;
  for (size_t i = 0; i < characters.size(); ++i) {
    if (is_in_word) {
      AppendLower(text, characters, i, out);
    } else {
      AppendCased(text, characters[i], Case::kTitle, out);
    }
    is_in_word = IsCased(characters[i].code_point);
  }
  return out;
}

}  // namespace strata::jinja
