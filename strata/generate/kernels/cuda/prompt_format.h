// Blocks of quantized weights as signed bytes for tensor cores: what prompt kernels keep of a row
// and a group of 256 weights in shared memory. For host and device.
//
// Offsets are taken away, and factors of 16 weights are multiplied in where the products are still
// bytes, so the integer of a block is a plain sum of products, or one for each factor:
//
//     I = sign * sum over runs of factor * (bytes . q)       M = sum mins * sums of 16 of q
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_FORMAT_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_FORMAT_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/formats_256_grid.h"
#include "strata/generate/kernels/cuda/formats_256_k.h"
#include "strata/generate/kernels/cuda/formats_32.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

enum class PromptChain {
  kSum256,     // A256: one sum a group.
  kFactors32,  // A256: 8 sums under factors.
  kFactors16,  // A256: 16 sums under factors.
  kBlocks32,   // A32: 8 sums, each under a scale of its own.
  kBlocks16,   // A32: 16 of them.
};

struct PromptFormat {
  PromptChain chain;
  bool is_negated = false;  // The bytes are those of -I.
  bool has_mins = false;    // A256: mins of 16 weights; A32: a second scale of each block.
  bool is_small = false;    // |I| < 2^22, of a group or a block.
};

constexpr bool MeetsA32(PromptChain chain) {
  return chain == PromptChain::kBlocks32 || chain == PromptChain::kBlocks16;
}

// Scales of a row and a group.
constexpr int ScalesOf(PromptChain chain) {
  return chain == PromptChain::kBlocks32 ? 8 : chain == PromptChain::kBlocks16 ? 16 : 1;
}
constexpr int FactorsOf(PromptChain chain) {
  return chain == PromptChain::kFactors32 ? 8 : chain == PromptChain::kFactors16 ? 16 : 0;
}

constexpr PromptFormat PromptFormatOf(BlockType type) {
  switch (type) {
    case BlockType::kQ2_K:
      return {.chain = PromptChain::kSum256, .has_mins = true, .is_small = true};
    case BlockType::kQ3_K:
      return {.chain = PromptChain::kSum256, .is_negated = true, .is_small = true};
    case BlockType::kTQ1_0:
    case BlockType::kTQ2_0:
      return {.chain = PromptChain::kSum256, .is_small = true};
    case BlockType::kQ4_K:
    case BlockType::kQ5_K:
      return {.chain = PromptChain::kFactors32, .has_mins = true};
    case BlockType::kIQ4_XS:
    case BlockType::kIQ2_XXS:
    case BlockType::kIQ3_XXS:
    case BlockType::kIQ3_S:
    case BlockType::kIQ1_S:
      return {.chain = PromptChain::kFactors32};
    case BlockType::kQ6_K:
    case BlockType::kIQ2_XS:
    case BlockType::kIQ2_S:
    case BlockType::kIQ1_M:
      return {.chain = PromptChain::kFactors16};
    case BlockType::kNVFP4:
      return {.chain = PromptChain::kBlocks16, .is_small = true};
    case BlockType::kQ4_1:
    case BlockType::kQ5_1:
      return {.chain = PromptChain::kBlocks32, .has_mins = true, .is_small = true};
    default:
      return {.chain = PromptChain::kBlocks32, .is_small = true};
  }
}

// The same at compile time, for device code.
template <BlockType kType>
inline constexpr PromptFormat kPromptFormatOf = PromptFormatOf(kType);

namespace packed {

// a - b of each byte, modulo 256.
STRATA_NUMERIC uint32_t SubtractBytes(uint32_t a, uint32_t b) {
  return ((a | 0x80808080u) - (b & 0x7f7f7f7fu)) ^ ((a ^ ~b) & 0x80808080u);
}

// A byte in all four.
STRATA_NUMERIC uint32_t Repeat(int32_t byte) {
  return (static_cast<uint32_t>(byte) & 255u) * 0x01010101u;
}

}  // namespace packed

// 32 weights of a group of 256 under A256, and their factors where the chain has some: one, or one
// of each 16.
struct PromptWords {
  uint32_t word[8];
  int32_t factor[2];
};

// factor * (4 - code) in each byte: codes below 8, factors within -32 .. 31.
STRATA_NUMERIC uint32_t NegatedProducts(uint32_t codes, int32_t factor) {
  const uint32_t magnitudes = codes * static_cast<uint32_t>(factor < 0 ? -factor : factor);
  const uint32_t products = factor < 0 ? packed::SubtractBytes(0, magnitudes) : magnitudes;
  return packed::SubtractBytes(packed::Repeat(4 * factor), products);
}

template <BlockType kType, typename Bytes>
STRATA_NUMERIC void UnpackForPrompt(const Bytes& bytes, Format256<kType>& format, int s,
                                    PromptWords& out) {
  constexpr PromptChain kChain = kPromptFormatOf<kType>.chain;
  format.Words(bytes, s, out.word);
  if constexpr (kType == BlockType::kQ2_K || kType == BlockType::kQ3_K) {
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      const int32_t factor = format.Factor(2 * s + j / 4);
      out.word[j] = kType == BlockType::kQ2_K ? out.word[j] * static_cast<uint32_t>(factor)
                                              : NegatedProducts(out.word[j], factor);
    }
  } else if constexpr (kChain == PromptChain::kSum256) {  // Ternary.
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      out.word[j] = packed::SubtractBytes(out.word[j], 0x01010101u);
    }
  } else if constexpr (kChain == PromptChain::kFactors16) {
    if constexpr (kType == BlockType::kQ6_K) {
      STRATA_UNROLL
      for (int j = 0; j < 8; ++j) {
        out.word[j] = packed::SubtractBytes(out.word[j], 0x20202020u);
      }
    }
    out.factor[0] = format.Factor(2 * s);
    out.factor[1] = format.Factor(2 * s + 1);
  } else {
    out.factor[0] = format.Factor(s);
  }
}

// The mins of 16 weights each, as bytes.
struct PromptMins {
  uint32_t word[4];
};

template <BlockType kType, typename Bytes>
STRATA_NUMERIC PromptMins MinsForPrompt(const Bytes& bytes) {
  if constexpr (kType == BlockType::kQ2_K) {
    PromptMins mins;
    STRATA_UNROLL
    for (int i = 0; i < 4; ++i) mins.word[i] = bytes.Word(i) >> 4 & 0x0f0f0f0fu;
    return mins;
  } else {  // Q4_K, Q5_K: of 32 weights each.
    const uint32_t b = bytes.Word(2), c = bytes.Word(3);
    const uint32_t low = b & 0x3f3f3f3fu;
    const uint32_t high = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
    return {{packed::BytePermute(low, 0, 0x1100u), packed::BytePermute(low, 0, 0x3322u),
             packed::BytePermute(high, 0, 0x1100u), packed::BytePermute(high, 0, 0x3322u)}};
  }
}

// A block of 32 under A32. NVFP4 has a scale for each half, others one, or one and a minimum.
struct PromptBlock {
  uint32_t word[8];
  float scale[2];
};

template <BlockType kType, typename Bytes>
STRATA_NUMERIC void UnpackForPrompt(const Bytes& bytes, int i, PromptBlock& out) {
  if constexpr (kType == BlockType::kNVFP4) {
    STRATA_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int run = i % 2 * 2 + half;
      const int begin = i / 2 * 36;
      STRATA_UNROLL
      for (int j = 0; j < 2; ++j) {
        const packed::TwoWords values = packed::LookUpNibbles(
            Mxfp4Values().word, bytes.Word((begin + 4 + 8 * run + 4 * j) / 4));
        out.word[4 * half + j] = values.low;
        out.word[4 * half + j + 2] = values.high;
      }
      out.scale[half] = HalfOfUe4m3(bytes.Byte(begin + run));
    }
  } else {
    using Format = Format32<kType>;
    Block32 block;
    Format::Unpack(bytes, i, block);
    STRATA_UNROLL
    for (int j = 0; j < 8; ++j) {
      out.word[j] = Format::kOffset == 0
                        ? block.word[j]
                        : packed::SubtractBytes(block.word[j], packed::Repeat(Format::kOffset));
    }
    out.scale[0] = block.scale;
    if constexpr (Format::kHasMin) out.scale[1] = block.min;
  }
}

// A sum of 16 codes as 64 * high + low, both small bytes.
struct SumDigits {
  int32_t high, low;
};
STRATA_NUMERIC SumDigits DigitsOfSum(int32_t sum) {
  const int32_t high = (sum + 32) >> 6;
  return {high, sum - 64 * high};
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_FORMAT_H_
