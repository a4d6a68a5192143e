// A set of code points as the splitters' patterns write them: Unicode general categories, ranges,
// white space, the Han script, complements and intersections.
//
// Categories and scripts are ICU's. Immutable once built; Thread-compatible.
#ifndef STRATA_GENERATE_TOKENIZER_CODE_POINT_SET_H_
#define STRATA_GENERATE_TOKENIZER_CODE_POINT_SET_H_

#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace strata {

class CodePointSet {
 public:
  // Adds all code points of a property: a general category ("L", "Lu", "N", "P", "S", "M", "Z") or
  // a script ("Han"). False if the name is none of those.
  bool AddProperty(absl::string_view name);
  void AddWhiteSpace();  // The property White_Space.
  void AddRange(char32_t first, char32_t last);
  void IntersectWith(CodePointSet other);
  void Complement();
  // Must be called once, after the last change.
  void Freeze();

  bool Contains(char32_t code_point) const {
    return code_point < kNumAscii ? ascii_[code_point] : Compute(code_point);
  }

 private:
  static constexpr char32_t kNumAscii = 128;

  bool Compute(char32_t code_point) const;

  uint32_t categories_ = 0;  // A bit per UCharCategory.
  bool han_ = false;
  std::vector<std::pair<char32_t, char32_t>> ranges_;
  std::vector<CodePointSet> intersected_;
  bool complemented_ = false;
  std::bitset<kNumAscii> ascii_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_CODE_POINT_SET_H_
