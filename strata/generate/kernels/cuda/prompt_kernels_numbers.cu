// The product kernel of prompts for F16, BF16 and F32 weights.
//
// Operands are split (prompt_split.h): f32 activations into two halves under a power of two for
// each 64 of them where weights are halves, else into three bfloat16, as are f32 weights. Products
// of 64 columns are summed by tensor cores from zero, then added to the running f32 sum.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_fragments.h"
#include "strata/generate/kernels/cuda/prompt_kernels.h"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"
#include "strata/generate/kernels/cuda/prompt_split.h"
#include "strata/generate/kernels/cuda/prompt_terms.cuh"
#include "strata/generate/kernels/cuda/prompt_tile.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kThreads = 256;  // Of a block; a warp has half of the vectors.
constexpr int kTiles = 4;
constexpr int kVectors = 16 * kTiles;
constexpr int kColumns = 64;  // That are in shared memory at once.
// Of rows of 64 halves, so that 8 rows of 16 bytes lie in different banks.
constexpr int kStride = 2 * kColumns + 16;

template <BlockType kType>
struct Terms {
  static constexpr bool kHalves = kType == BlockType::kF16;
  static constexpr int kOfWeights = kType == BlockType::kF32 ? 3 : 1;
  static constexpr int kOfVectors = kHalves ? 2 : 3;
};

template <BlockType kType>
struct alignas(16) Buffers {
  uint8_t weights[2][Terms<kType>::kOfWeights][kPromptTileWeights * kStride];
  uint8_t vectors[2][Terms<kType>::kOfVectors][kVectors * kStride];
  float powers[2][kVectors];  // That products are multiplied with.
  PromptTileRows<kVectors> rows;
};

// Eight numbers of 2 or 4 bytes; zero behind the end of a row. They may begin anywhere.
template <typename Number>
struct Eight {
  Number number[8];
};

template <typename Number>
__device__ __forceinline__ Eight<Number> LoadEight(const uint8_t* row, int column, int columns) {
  Eight<Number> eight;
  const uint8_t* const from = row + int64_t{column} * sizeof(Number);
  if (column + 8 <= columns && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
    auto* const words = reinterpret_cast<uint4*>(eight.number);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(Number) / 2); ++i) {
      words[i] = reinterpret_cast<const uint4*>(from)[i];
    }
    return eight;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    Number number = 0;
    if (column + i < columns) {
#pragma unroll
      for (int byte = 0; byte < static_cast<int>(sizeof(Number)); ++byte) {
        number |= static_cast<Number>(from[i * sizeof(Number) + byte]) << 8 * byte;
      }
    }
    eight.number[i] = number;
  }
  return eight;
}

// A warp has 4 vectors of 64, a lane 8 numbers of one. Returns what products are multiplied with.
__device__ __forceinline__ float StoreScaledHalves(const float (&values)[8], uint8_t* to,
                                                   int term_bytes) {
  uint32_t max_bits = MaxMagnitudeBits(values);
#pragma unroll
  for (int mask = 1; mask < 8; mask *= 2) {
    max_bits = max(max_bits, __shfl_xor_sync(0xffffffffu, max_bits, mask));
  }
  const PowerOfTwo power = PowerFor(max_bits);
  StoreHalves(values, power.down, to, term_bytes);
  return power.up;
}

struct EightFloats {
  float value[8];
};
__device__ __forceinline__ EightFloats ToFloats(const Eight<uint32_t>& eight) {
  EightFloats floats;
#pragma unroll
  for (int i = 0; i < 8; ++i) floats.value[i] = f32::FromBits(eight.number[i]);
  return floats;
}

// What a thread brings of 64 columns: of weights 4 times 8 in rows 32 apart, of vectors twice.
template <BlockType kType>
class Piece {
 public:
  using Weight = std::conditional_t<kType == BlockType::kF32, uint32_t, uint16_t>;

  __device__ __forceinline__ void Load(const PromptArguments& p,
                                       const PromptTileRows<kVectors>& rows, int first_column) {
    const int column = first_column + threadIdx.x % 8 * 8;
    const int row = threadIdx.x / 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      weights_[i] = LoadEight<Weight>(rows.weights[row + 32 * i], column, p.columns);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto* const vector = reinterpret_cast<const uint8_t*>(
          p.x.values + int64_t{rows.vectors[row + 32 * i]} * p.columns);
      vectors_[i] = LoadEight<uint32_t>(vector, column, p.columns);
    }
  }

  __device__ __forceinline__ void Store(Buffers<kType>& shared, int buffer) const {
    const int row = threadIdx.x / 8;
    const int offset = row * kStride + threadIdx.x % 8 * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint8_t* const to = &shared.weights[buffer][0][offset + 32 * i * kStride];
      if constexpr (kType == BlockType::kF32) {
        StoreBfloats(ToFloats(weights_[i]).value, to, kPromptTileWeights * kStride);
      } else {
        StoreTerm(weights_[i].number, to);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint8_t* const to = &shared.vectors[buffer][0][offset + 32 * i * kStride];
      if constexpr (Terms<kType>::kHalves) {
        const float power = StoreScaledHalves(ToFloats(vectors_[i]).value, to, kVectors * kStride);
        if (threadIdx.x % 8 == 0) shared.powers[buffer][row + 32 * i] = power;
      } else {
        StoreBfloats(ToFloats(vectors_[i]).value, to, kVectors * kStride);
      }
    }
  }

 private:
  Eight<Weight> weights_[4];
  Eight<uint32_t> vectors_[2];
};

// sums += the products of 64 columns.
template <BlockType kType>
__device__ __forceinline__ void AddColumns(const Buffers<kType>& shared, int buffer,
                                           float (&sums)[2][kTiles][4]) {
  using Split = Terms<kType>;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int first_row = warp % 4 * 32;
  const int first_vector = warp / 4 * 8 * kTiles;
  float parts[2][kTiles][4] = {};
#pragma unroll 1
  for (int k = 0; k < kColumns / 16; ++k) {
    uint32_t a[Split::kOfWeights][2][4];
#pragma unroll
    for (int i = 0; i < Split::kOfWeights; ++i) {
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        LoadMatrices(a[i][m],
                     SharedAddress(&shared.weights[buffer][i][(first_row + 16 * m) * kStride]) +
                         OffsetInA(lane, kStride) + 32 * k);
      }
    }
    // Small terms first; products of terms that are small together are left out.
#pragma unroll
    for (int j = Split::kOfVectors - 1; j >= 0; --j) {
#pragma unroll
      for (int n = 0; n < kTiles; n += 2) {
        uint32_t b[4];
        LoadMatrices(b,
                     SharedAddress(&shared.vectors[buffer][j][(first_vector + 8 * n) * kStride]) +
                         OffsetInTwoBs(lane, kStride) + 32 * k);
#pragma unroll
        for (int i = Split::kOfWeights - 1; i >= 0; --i) {
          if (i + j > 2) continue;
#pragma unroll
          for (int m = 0; m < 2; ++m) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              if constexpr (Split::kHalves) {
                MmaHalves(parts[m][n + half], a[i][m], b[2 * half], b[2 * half + 1]);
              } else {
                MmaBfloats(parts[m][n + half], a[i][m], b[2 * half], b[2 * half + 1]);
              }
            }
          }
        }
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int vector = first_vector + 8 * n + lane % 4 * 2 + i % 2;
      const float power = Split::kHalves ? shared.powers[buffer][vector] : 1.0f;
#pragma unroll
      for (int m = 0; m < 2; ++m) sums[m][n][i] = f32::Fma(parts[m][n][i], power, sums[m][n][i]);
    }
  }
}

template <BlockType kType>
__global__ void __launch_bounds__(kThreads, 1)
    PromptNumberKernel(const __grid_constant__ PromptArguments p) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<Buffers<kType>*>(memory);
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!FindTile(p, shared.rows)) return;
  Piece<kType> piece;
  piece.Load(p, shared.rows, 0);
  piece.Store(shared, 0);
  __syncthreads();
  float sums[2][kTiles][4] = {};
  int buffer = 0;
#pragma unroll 1
  for (int column = 0; column < p.columns; column += kColumns) {
    const bool has_next = column + kColumns < p.columns;
    if (has_next) piece.Load(p, shared.rows, column + kColumns);
    AddColumns(shared, buffer, sums);
    buffer ^= 1;
    if (has_next) piece.Store(shared, buffer);
    __syncthreads();
  }
  StoreResults(p, shared.rows, sums);
}

}  // namespace

PromptKernel FindPromptKernelOfNumbers(BlockType type, bool /*is_wide*/) {
  switch (type) {
    case BlockType::kF16:
      return {PromptNumberKernel<BlockType::kF16>, sizeof(Buffers<BlockType::kF16>), kVectors,
              kThreads};
    case BlockType::kBF16:
      return {PromptNumberKernel<BlockType::kBF16>, sizeof(Buffers<BlockType::kBF16>), kVectors,
              kThreads};
    case BlockType::kF32:
      return {PromptNumberKernel<BlockType::kF32>, sizeof(Buffers<BlockType::kF32>), kVectors,
              kThreads};
    default:
      return {};
  }
}

}  // namespace strata
