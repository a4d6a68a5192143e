// Characters of UTF-8 text as Python sees them: classes, case and white space.
#ifndef STRATA_GENERATE_CHAT_JINJA_CHARACTERS_H_
#define STRATA_GENERATE_CHAT_JINJA_CHARACTERS_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/marked_text.h"

namespace strata::jinja {

// One character of a text.
struct Character {
  char32_t code_point;
  size_t begin;  // In bytes.
  size_t end;
};

// The character at `begin`, which is before the end of `text`, well-formed UTF-8.
Character CharacterAt(absl::string_view text, size_t begin);
std::vector<Character> CharactersOf(absl::string_view text);

// str.isspace of one character.
bool IsSpace(char32_t code_point);
// What str.splitlines ends lines at.
bool IsLineEnd(char32_t code_point);
// str.isprintable of one character.
bool IsPrintable(char32_t code_point);
bool IsAlphabetic(char32_t code_point);
bool IsDecimal(char32_t code_point);
bool IsDigit(char32_t code_point);
bool IsNumeric(char32_t code_point);
bool IsUpper(char32_t code_point);
bool IsLower(char32_t code_point);
bool IsTitle(char32_t code_point);
// Of a Unicode \w.
bool IsWord(char32_t code_point);
// Of names in templates.
bool StartsName(char32_t code_point);
bool ContinuesName(char32_t code_point);

// The value of a decimal digit in any script.
int DigitValue(char32_t code_point);

// The part of `text` without white space at its left or right end.
size_t SkipSpace(absl::string_view text, size_t begin);
size_t SkipSpaceBackwards(absl::string_view text, size_t end);

// str.upper and its like; each character keeps its mark.
MarkedText Upper(const MarkedText& text);
MarkedText Lower(const MarkedText& text);
MarkedText SwapCase(const MarkedText& text);
// The first character in title case, the others lower.
MarkedText Capitalize(const MarkedText& text);
// The first letter of every run of letters in title case, the others lower.
MarkedText Title(const MarkedText& text);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_CHARACTERS_H_
