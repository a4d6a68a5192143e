// GPT-2's byte alphabet: byte-level vocabularies spell each byte as one printable character, so
// that tokens are text whatever bytes they hold ("Ġthe" is " the").
//
// Bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF are the character of the same number; the other 68, in
// order, are U+0100 and up.
#ifndef STRATA_GENERATE_TOKENIZER_BYTE_ALPHABET_H_
#define STRATA_GENERATE_TOKENIZER_BYTE_ALPHABET_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace strata {

// The bytes that `spelling` stands for; nothing if it has a character outside the alphabet.
std::optional<std::string> BytesOfSpelling(absl::string_view spelling);

// The inverse.
std::string SpellingOfBytes(absl::string_view bytes);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_BYTE_ALPHABET_H_
