// Methods that tell what characters a string is made of.

#include <algorithm>
#include <string>
#include <vector>

#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/string_call.h"

namespace strata::jinja {
namespace {

// Of texts that have a cased letter, whether all of them are upper, lower or title case.
bool HasCase(absl::string_view name, const std::vector<Character>& characters) {
  bool has_cased = false;
  bool previous_is_cased = false;
  for (const Character& character : characters) {
    const char32_t c = character.code_point;
    const bool is_upper = IsUpper(c);
    const bool is_lower = IsLower(c);
    const bool is_title = jinja::IsTitle(c);
    if (name == "isupper" && (is_lower || is_title)) return false;
    if (name == "islower" && (is_upper || is_title)) return false;
    if (name == "istitle") {
      if ((is_upper || is_title) && previous_is_cased) return false;
      if (is_lower && !previous_is_cased) return false;
      previous_is_cased = is_upper || is_lower || is_title;
    }
    has_cased = has_cased || (name == "isupper"   ? is_upper
                              : name == "islower" ? is_lower
                                                  : is_upper || is_lower || is_title);
  }
  return has_cased;
}

}  // namespace

absl::StatusOr<Value> ClassifyString(const StringCall& call) {
  RETURN_IF_ERROR(call.Positional({}, 0).status());
  const std::vector<Character> characters = CharactersOf(call.text().text());
  const absl::string_view name = call.name;
  if (name == "isupper" || name == "islower" || name == "istitle") {
    return Value::Bool(HasCase(name, characters));
  }
  const auto fits = [&](const Character& character) {
    const char32_t c = character.code_point;
    if (name == "isspace") return IsSpace(c);
    if (name == "isascii") return c < 0x80;
    if (name == "isprintable") return IsPrintable(c);
    if (name == "isalpha") return IsAlphabetic(c);
    if (name == "isdecimal") return IsDecimal(c);
    if (name == "isdigit") return IsDigit(c);
    if (name == "isnumeric") return IsNumeric(c);
    if (name == "isidentifier") {
      return character.begin == 0 ? StartsName(c) : ContinuesName(c);
    }
    return IsAlphabetic(c) || IsDecimal(c) || IsDigit(c) || IsNumeric(c);  // isalnum
  };
  const bool if_empty = name == "isascii" || name == "isprintable";
  if (characters.empty()) return Value::Bool(if_empty);
  return Value::Bool(std::all_of(characters.begin(), characters.end(), fits));
}

}  // namespace strata::jinja
