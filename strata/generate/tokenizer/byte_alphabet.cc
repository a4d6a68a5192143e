#include "strata/generate/tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "strata/core/utf8.h"

namespace strata {
namespace {

constexpr size_t kNumCharacters = 0x100 + 68;

struct Alphabet {
  std::array<char32_t, 256> character_of{};
  std::array<int, kNumCharacters> byte_of{};  // -1: not of the alphabet.
};

constexpr bool IsItsOwnCharacter(size_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  for (int& byte : alphabet.byte_of) byte = -1;
  char32_t next = 0x100;
  for (size_t byte = 0; byte < 256; ++byte) {
    const char32_t character = IsItsOwnCharacter(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.character_of[byte] = character;
    alphabet.byte_of[character] = static_cast<int>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

std::optional<std::string> BytesOfSpelling(absl::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const Utf8Character character = FirstUtf8Character(spelling);
    if (character.code_point >= kNumCharacters || kAlphabet.byte_of[character.code_point] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(kAlphabet.byte_of[character.code_point]));
    spelling.remove_prefix(character.num_bytes);
  }
  return bytes;
}

std::string SpellingOfBytes(absl::string_view bytes) {
  std::string spelling;
  for (const char byte : bytes) {
    AppendUtf8(kAlphabet.character_of[static_cast<uint8_t>(byte)], spelling);
  }
  return spelling;
}

}  // namespace strata
