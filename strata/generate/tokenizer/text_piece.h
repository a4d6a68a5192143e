// A part of a prompt, and whether the texts of special tokens count in it.
//
// A prompt is made of markup, which is the program's and may hold special tokens, and of content,
// which is a user's and may not: a user who types "<|im_end|>" has typed ten characters.
#ifndef STRATA_GENERATE_TOKENIZER_TEXT_PIECE_H_
#define STRATA_GENERATE_TOKENIZER_TEXT_PIECE_H_

#include <string>

namespace strata {

// What the text of a special token is.
enum class SpecialText {
  // Characters. User-defined tokens alone are found, as their makers intend.
  kIsPlainText,
  // The token.
  kIsToken,
  // Characters, of whatever type the token is: many files type the marks of turns as user-defined.
  // White space alone, which some vocabularies hold as user-defined tokens, is found.
  kIsContent,
};

struct TextPiece {
  std::string text;
  SpecialText special_text = SpecialText::kIsPlainText;
  // Text on both sides of a piece's start may become one token unless this is set. Set where an
  // answer begins: its tokens were generated one by one after those of the prompt.
  bool starts_token = false;

  bool operator==(const TextPiece& other) const {
    return text == other.text && special_text == other.special_text &&
           starts_token == other.starts_token;
  }
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_TEXT_PIECE_H_
