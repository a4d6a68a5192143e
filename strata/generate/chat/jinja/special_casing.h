// Characters whose upper or title case is several characters (Unicode's SpecialCasing.txt, the
// entries that hold in every language).
#ifndef STRATA_GENERATE_CHAT_JINJA_SPECIAL_CASING_H_
#define STRATA_GENERATE_CHAT_JINJA_SPECIAL_CASING_H_

namespace strata::jinja {

struct SpecialCasing {
  char32_t code_point;
  const char32_t* upper;
  const char32_t* title;
};

// Null for every other character.
const SpecialCasing* FindSpecialCasing(char32_t code_point);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_SPECIAL_CASING_H_
