// Constant tables of the GGUF block formats. The numbers are facts of the formats (ggml, see
// NOTICE); block_tables.cc is generated from third_party/ggml_tables/iq_grids.json.
//
// A row of a grid is the magnitudes of 8 (or 4) neighbouring weights and can be loaded as one
// 64-bit (or 32-bit) word; tables start on a cache line.
#ifndef STRATA_GENERATE_BLOCKS_BLOCK_TABLES_H_
#define STRATA_GENERATE_BLOCKS_BLOCK_TABLES_H_

#include <cstdint>

namespace strata {

// Values of 4-bit codes: IQ4_NL and IQ4_XS; MXFP4 and NVFP4, doubled so that they are integers.
extern const int8_t kValuesIq4nl[16];
extern const int8_t kValuesMxfp4[16];

// The signs of 8 weights (a set bit is negative) from a code of 7 bits: IQ2_XXS, IQ2_XS, IQ3_XXS.
extern const uint8_t kSignsIq2xs[128];

extern const uint8_t kGridIq2xxs[256][8];
extern const uint8_t kGridIq2xs[512][8];
extern const uint8_t kGridIq2s[1024][8];
extern const uint8_t kGridIq3xxs[256][4];
extern const uint8_t kGridIq3s[512][4];
extern const int8_t kGridIq1s[2048][8];  // -1, 0 and 1: IQ1_S and IQ1_M.

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_BLOCK_TABLES_H_
