// Sign codes of 7 bits, whose eighth sign makes the number of negative weights even, as plain bits.
// The codes are those of kSignsIq2xs (strata/generate/blocks/block_tables.h).
#ifndef STRATA_GENERATE_KERNELS_X86_SIGN_CODES_H_
#define STRATA_GENERATE_KERNELS_X86_SIGN_CODES_H_

#include <cstdint>

#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {

// Each byte holds a code; its parity becomes bit 7.
STRATA_INLINE uint64_t WithEighthSigns(uint64_t codes) {
  uint64_t parity = codes ^ codes >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return codes | (parity & 0x0101010101010101) << 7;
}

// Four codes in the low 28 bits of each word.
STRATA_INLINE uint64_t SignsOfWords(uint32_t first, uint32_t second) {
  const uint64_t words = first | static_cast<uint64_t>(second) << 32;
  return WithEighthSigns((words & 0x0000007f0000007f) | (words << 1 & 0x00007f0000007f00) |
                         (words << 2 & 0x007f0000007f0000) | (words << 3 & 0x7f0000007f000000));
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_SIGN_CODES_H_
