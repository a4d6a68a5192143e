#include "strata/generate/tokenizer/code_point_set.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>

namespace strata {
namespace {

struct NamedCategory {
  absl::string_view name;
  uint32_t mask;
};

constexpr NamedCategory kCategories[] = {
    {"L", U_GC_L_MASK},   {"Lu", U_GC_LU_MASK}, {"Ll", U_GC_LL_MASK}, {"Lt", U_GC_LT_MASK},
    {"Lm", U_GC_LM_MASK}, {"Lo", U_GC_LO_MASK}, {"M", U_GC_M_MASK},   {"N", U_GC_N_MASK},
    {"P", U_GC_P_MASK},   {"S", U_GC_S_MASK},   {"Z", U_GC_Z_MASK},
};

bool IsHan(char32_t code_point) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_getScript(static_cast<UChar32>(code_point), &error) == USCRIPT_HAN &&
         U_SUCCESS(error);
}

}  // namespace

bool CodePointSet::AddProperty(absl::string_view name) {
  if (name == "Han") {
    han_ = true;
    return true;
  }
  for (const NamedCategory& category : kCategories) {
    if (category.name == name) {
      categories_ |= category.mask;
      return true;
    }
  }
  return false;
}

// White_Space is the separators, and six control characters.
void CodePointSet::AddWhiteSpace() {
  AddProperty("Z");
  AddRange(0x09, 0x0D);
  AddRange(0x85, 0x85);
}

void CodePointSet::AddRange(char32_t first, char32_t last) { ranges_.emplace_back(first, last); }

void CodePointSet::IntersectWith(CodePointSet other) { intersected_.push_back(std::move(other)); }

void CodePointSet::Complement() { complemented_ = !complemented_; }

void CodePointSet::Freeze() {
  for (char32_t code_point = 0; code_point < kNumAscii; ++code_point) {
    ascii_[code_point] = Compute(code_point);
  }
}

bool CodePointSet::Compute(char32_t code_point) const {
  const auto holds = [code_point](const std::pair<char32_t, char32_t>& range) {
    return range.first <= code_point && code_point <= range.second;
  };
  bool contained = (U_MASK(u_charType(static_cast<UChar32>(code_point))) & categories_) != 0 ||
                   std::any_of(ranges_.begin(), ranges_.end(), holds) ||
                   (han_ && IsHan(code_point));
  for (const CodePointSet& other : intersected_) {
    contained = contained && other.Compute(code_point);
  }
  return contained != complemented_;
}

}  // namespace strata
