// Keys and values of the 16 positions that a warp attends to at once, as tensor cores want them:
// TensorTiles by format. Device code.
//
// The matrices are m16n8k16. Which dimension is which column or depth of a matrix is free, so lanes
// load neighbouring bytes: lane (g, t) = (lane / 4, lane % 4) has dimensions 32 c + 8 t .. + 7 of
// the keys of positions g and 8 + g. Of the values of positions 2t, 2t + 1, 2t + 8, 2t + 9 it has
// dimensions 64 c + 8 g .. + 7 as halves, or 32 b + 4 g .. + 3 as int8: there a matrix has one
// block of 32, whose scales go into the probabilities.
#ifndef STRATA_GENERATE_KERNELS_CUDA_TILE_ELEMENTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_TILE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/half_products.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

#ifdef __CUDACC__

// A warp's positions: 16 from `slot` of a page on, of which the row sees [first, end).
struct WarpPositions {
  const std::byte* page;  // Null if it sees none.
  int slot;
  int first;
  int end;

  __device__ bool sees_any() const { return page != nullptr; }
  __device__ bool Sees(int i) const { return first <= i && i < end; }
};

// Position of the k-th value of lane t, which is also that of its score [k / 2][k % 2].
__device__ __forceinline__ int PositionOfValue(int t, int k) { return 2 * t + k % 2 + k / 2 * 8; }

// Of the sums of a head in shared memory.
template <int kValueParts>
inline constexpr int kValuePlaces = 64 * kValueParts;

template <int kKeyParts, int kValueParts>
class HalfElements {
 public:
  static constexpr int kStride = kValuePlaces<kValueParts> + 4;

  __device__ void LoadKeys(const WarpPositions& at, int64_t offset, int size) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int position = 8 * n + g();
      const std::byte* const row = at.page + offset + (at.slot + position) * size * 2;
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        const int dim = 32 * c + 8 * t();
        keys_[n][c] = LoadOrZero(row + dim * 2, at.Sees(position) && dim < size);
      }
    }
  }

  __device__ void LoadValues(const WarpPositions& at, int64_t offset, int size) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int position = PositionOfValue(t(), k);
      const std::byte* const row = at.page + offset + (at.slot + position) * size * 2;
#pragma unroll
      for (int c = 0; c < kValueParts; ++c) {
        const int dim = 64 * c + 8 * g();
        values_[k][c] = LoadOrZero(row + dim * 2, at.Sees(position) && dim < size);
      }
    }
  }

  // scores[n][i]: of head g with position 8 n + 2 t + i of the warp.
  __device__ void Multiply(const uint32_t (&queries)[2 * kKeyParts][4],
                           float (&scores)[2][2]) const {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      float sums[4] = {};
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        MultiplyHalves(queries[2 * c], keys_[n][c].x, keys_[n][c].y, sums);
        MultiplyHalves(queries[2 * c + 1], keys_[n][c].z, keys_[n][c].w, sums);
      }
      scores[n][0] = f32::Add(sums[0], sums[2]);
      scores[n][1] = f32::Add(sums[1], sums[3]);
    }
  }

  // What was summed before counts `factor`.
  __device__ void AddValues(const float (&weights)[2][2], float factor) {
#pragma unroll
    for (int j = 0; j < 8 * kValueParts; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out_[j][i] = f32::Mul(out_[j][i], factor);
    }
    uint32_t left[4];
    SplitPair(weights[0][0], weights[0][1], left[0], left[1]);
    SplitPair(weights[1][0], weights[1][1], left[2], left[3]);
#pragma unroll
    for (int c = 0; c < kValueParts; ++c) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const uint32_t a = WordOf(values_[0][c], word);
        const uint32_t b = WordOf(values_[1][c], word);
        const uint32_t d = WordOf(values_[2][c], word);
        const uint32_t e = WordOf(values_[3][c], word);
        // The lower halves of two positions, and the upper ones: two neighbouring dimensions.
        MultiplyHalves(left, __byte_perm(a, b, 0x5410), __byte_perm(d, e, 0x5410),
                       out_[8 * c + 2 * word]);
        MultiplyHalves(left, __byte_perm(a, b, 0x7632), __byte_perm(d, e, 0x7632),
                       out_[8 * c + 2 * word + 1]);
      }
    }
  }

  __device__ void ClearSums() {
#pragma unroll
    for (int j = 0; j < 8 * kValueParts; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out_[j][i] = 0.0f;
    }
  }

  // The sums of head g to `to` [kStride], where lanes meet different banks for all heads. Place i
  // has dimension DimensionAt(i).
  __device__ void Store(float* to) const {
#pragma unroll
    for (int c = 0; c < kValueParts; ++c) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {  // Columns 2t and 2t + 1: eight dimensions each.
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          to[64 * c + 4 * (8 * i + j) + t()] = f32::Add(out_[8 * c + j][i], out_[8 * c + j][i + 2]);
        }
      }
    }
  }
  static __device__ int DimensionAt(int i) { return i / 64 * 64 + i % 4 * 16 + i % 64 / 4; }

 private:
  static __device__ int g() { return threadIdx.x % 32 / 4; }
  static __device__ int t() { return threadIdx.x % 4; }
  static __device__ uint32_t WordOf(const uint4& words, int i) {
    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
  }

  uint4 keys_[2][kKeyParts];
  uint4 values_[4][kValueParts];
  float out_[8 * kValueParts][4] = {};
};

// Codes are exact as halves. A block of keys is multiplied by its scale after its products; scales
// of values, under the power of two below the greatest so far, are part of the probabilities.
template <int kKeyParts, int kValueParts>
class Int8Elements {
 public:
  static constexpr int kStride = kValuePlaces<kValueParts> + 4;

  __device__ void LoadKeys(const WarpPositions& at, int64_t offset, int size) {
    const std::byte* const run = at.page + offset;
    const int num_scales = KvScalesOf(size);
    const std::byte* const scales = run + kKvPagePositions * size;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int position = 8 * n + g();
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        const int dim = 32 * c + 8 * t();
        keys_[n][c] = LoadTwoWordsOrZero(run + (at.slot + position) * size + dim,
                                         at.Sees(position) && dim < size);
      }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int position = PositionOfValue(t(), k);
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        key_scales_[k][c] =
            f32::FromBits(LoadWordOrZero(scales + ((at.slot + position) * num_scales + c) * 4,
                                         at.Sees(position) && c < num_scales));
      }
    }
  }

  __device__ void LoadValues(const WarpPositions& at, int64_t offset, int size) {
    const std::byte* const run = at.page + offset;
    const int num_scales = KvScalesOf(size);
    const std::byte* const scales = run + kKvPagePositions * size;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int position = PositionOfValue(t(), k);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        const int dim = kKvScaleBlock * b + 4 * g();
        values_[k][b] = LoadWordOrZero(run + (at.slot + position) * size + dim,
                                       at.Sees(position) && dim < size);
        value_scales_[k][b] = LoadWordOrZero(scales + ((at.slot + position) * num_scales + b) * 4,
                                             at.Sees(position) && b < num_scales);
      }
    }
  }

  __device__ void Multiply(const uint32_t (&queries)[2 * kKeyParts][4],
                           float (&scores)[2][2]) const {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      scores[n][0] = scores[n][1] = 0.0f;
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        float sums[4] = {};
        const uint32_t low = keys_[n][c].x ^ kSigns;
        const uint32_t high = keys_[n][c].y ^ kSigns;
        MultiplyHalves(queries[2 * c], LowerTwo(low), UpperTwo(low), sums);
        MultiplyHalves(queries[2 * c + 1], LowerTwo(high), UpperTwo(high), sums);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          scores[n][i] =
              f32::Fma(key_scales_[2 * n + i][c], f32::Add(sums[i], sums[i + 2]), scores[n][i]);
        }
      }
    }
  }

  __device__ void AddValues(const float (&weights)[2][2], float factor) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const float inverse = RaiseUnit(b, factor);
      uint32_t left[4];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        SplitPair(Weight(weights[n][0], 2 * n, b, inverse),
                  Weight(weights[n][1], 2 * n + 1, b, inverse), left[2 * n], left[2 * n + 1]);
      }
      // Bytes of two positions side by side: of two dimensions, and of two more.
      const uint32_t first = __byte_perm(values_[0][b], values_[1][b], 0x5140) ^ kSigns;
      const uint32_t second = __byte_perm(values_[0][b], values_[1][b], 0x7362) ^ kSigns;
      const uint32_t first_8 = __byte_perm(values_[2][b], values_[3][b], 0x5140) ^ kSigns;
      const uint32_t second_8 = __byte_perm(values_[2][b], values_[3][b], 0x7362) ^ kSigns;
      MultiplyHalves(left, LowerTwo(first), LowerTwo(first_8), out_[b][0]);
      MultiplyHalves(left, UpperTwo(first), UpperTwo(first_8), out_[b][1]);
      MultiplyHalves(left, LowerTwo(second), LowerTwo(second_8), out_[b][2]);
      MultiplyHalves(left, UpperTwo(second), UpperTwo(second_8), out_[b][3]);
    }
  }

  __device__ void ClearSums() {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      exponents_[b] = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) out_[b][j][i] = 0.0f;
      }
    }
  }

  __device__ void Store(float* to) const {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const float unit = f32::FromBits(exponents_[b] << 23);
#pragma unroll
      for (int i = 0; i < 2; ++i) {  // Columns 2t and 2t + 1: four dimensions each.
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          to[32 * b + 4 * (4 * i + j) + t()] =
              f32::Mul(f32::Add(out_[b][j][i], out_[b][j][i + 2]), unit);
        }
      }
    }
  }
  static __device__ int DimensionAt(int i) { return i / 32 * 32 + i % 4 * 8 + i % 32 / 4; }

 private:
  static constexpr int kBlocks = 2 * kValueParts;
  static constexpr uint32_t kSigns = 0x80808080u;

  static __device__ int g() { return threadIdx.x % 32 / 4; }
  static __device__ int t() { return threadIdx.x % 4; }

  // Bytes u become the halves u - 128, by way of 1024 + u.
  static __device__ uint32_t LowerTwo(uint32_t bytes) {
    return SubtractHalves(__byte_perm(bytes, 0x64646464u, 0x4140), 0x64806480u);
  }
  static __device__ uint32_t UpperTwo(uint32_t bytes) {
    return SubtractHalves(__byte_perm(bytes, 0x64646464u, 0x4342), 0x64806480u);
  }

  __device__ float Weight(float weight, int k, int b, float inverse) const {
    return f32::Mul(weight, f32::Mul(f32::FromBits(value_scales_[k][b]), inverse));
  }

  // Brings block b's sums under `factor` and a unit that the new scales are below twice of. Returns
  // the inverse of that unit. Scales are zero or at least 2^-107, and far below the greatest float.
  __device__ float RaiseUnit(int b, float factor) {
    uint32_t greatest = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      greatest = value_scales_[k][b] > greatest ? value_scales_[k][b] : greatest;
    }
    const uint32_t exponent = max(__reduce_max_sync(kAllLanes, greatest) >> 23, exponents_[b]);
    const uint32_t raised = exponent - exponents_[b];
    // The sums are zero where the unit was.
    factor = raised > 126 ? 0.0f : f32::Mul(factor, f32::FromBits((127 - raised) << 23));
    exponents_[b] = exponent;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out_[b][j][i] = f32::Mul(out_[b][j][i], factor);
    }
    return f32::FromBits((254 - exponent) << 23);
  }

  uint2 keys_[2][kKeyParts];
  float key_scales_[4][kKeyParts];
  uint32_t values_[4][kBlocks];
  uint32_t value_scales_[4][kBlocks];  // Their bits.
  uint32_t exponents_[kBlocks] = {};   // Of the units of the sums; 0: nothing was summed.
  float out_[kBlocks][4][4] = {};
};

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_TILE_ELEMENTS_H_
