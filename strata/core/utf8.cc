#include "strata/core/utf8.h"

#include <algorithm>
#include <cstdint>

namespace strata {
namespace {

// What a lead byte promises: how many bytes the character has and which values the second may take.
struct LeadByte {
  size_t num_bytes;
  uint8_t second_min;
  uint8_t second_max;
};

LeadByte PromiseOf(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Character FirstUtf8Character(absl::string_view bytes) {
  constexpr Utf8Character kIllFormed = {Utf8Character::Status::kIllFormed, kReplacementCharacter,
                                        1};
  const uint8_t lead = static_cast<uint8_t>(bytes[0]);
  const LeadByte promise = PromiseOf(lead);
  if (promise.num_bytes == 0) return kIllFormed;
  if (promise.num_bytes == 1) return {Utf8Character::Status::kWellFormed, lead, 1};

  char32_t code_point = lead & (0x7F >> promise.num_bytes);
  const size_t available = std::min(bytes.size(), promise.num_bytes);
  for (size_t i = 1; i < available; ++i) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    const uint8_t min = i == 1 ? promise.second_min : 0x80;
    const uint8_t max = i == 1 ? promise.second_max : 0xBF;
    if (byte < min || byte > max) return kIllFormed;
    code_point = code_point << 6 | (byte & 0x3F);
  }
  if (available < promise.num_bytes) {
    return {Utf8Character::Status::kIncomplete, kReplacementCharacter, available};
  }
  return {Utf8Character::Status::kWellFormed, code_point, promise.num_bytes};
}

void AppendUtf8(char32_t code_point, std::string& out) {
  const auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80 | (code_point >> shift & 0x3F)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool IsUtf8(absl::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Character character = FirstUtf8Character(bytes);
    if (character.status != Utf8Character::Status::kWellFormed) return false;
    bytes.remove_prefix(character.num_bytes);
  }
  return true;
}

std::string ReplaceIllFormedUtf8(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Character character = FirstUtf8Character(bytes);
    if (character.status == Utf8Character::Status::kWellFormed) {
      out.append(bytes.data(), character.num_bytes);
      bytes.remove_prefix(character.num_bytes);
    } else {
      AppendUtf8(kReplacementCharacter, out);
      bytes.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace strata
