// Strict UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
//
// A byte that belongs to no well-formed character is replaced by U+FFFD on its own: one per byte.
#ifndef STRATA_CORE_UTF8_H_
#define STRATA_CORE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace strata {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct Utf8Character {
  enum class Status {
    kWellFormed,
    kIllFormed,   // The first byte starts no character, whatever follows it.
    kIncomplete,  // All bytes given are the beginning of a character.
  };
  Status status;
  char32_t code_point;  // U+FFFD unless well-formed.
  size_t num_bytes;     // 1 when ill-formed; all that were given when incomplete.
};

// The character at the start of `bytes`, which is not empty.
Utf8Character FirstUtf8Character(absl::string_view bytes);

// `code_point` is at most U+10FFFF.
void AppendUtf8(char32_t code_point, std::string& out);

bool IsUtf8(absl::string_view bytes);

// `bytes` with U+FFFD for each byte that belongs to no character.
std::string ReplaceIllFormedUtf8(absl::string_view bytes);

}  // namespace strata

#endif  // STRATA_CORE_UTF8_H_
