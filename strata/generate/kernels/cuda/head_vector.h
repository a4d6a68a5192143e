// A query, key or value of one head as it becomes ready for attention: the norm, the rotation, and
// keys and values in their page. A warp's work, shared by the kernels that do it. Device code.
#ifndef STRATA_GENERATE_KERNELS_CUDA_HEAD_VECTOR_H_
#define STRATA_GENERATE_KERNELS_CUDA_HEAD_VECTOR_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/rotary_options.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kMaxHeadSize = 512;

#ifdef __CUDACC__

// A query's, a key's or a value's head of a row, and what is to be done with it.
struct HeadVector {
  const float* heads;  // All of the row.
  int num_heads;
  int index;
  int size;
  DeviceHeadNorm norm;
  bool rotates;
};

// Queries, then keys, then values.
__device__ __forceinline__ HeadVector HeadVectorOf(const PrepareTask& task, int row, int number) {
  const KvLayer& kv = task.kv;
  if (number < task.num_heads) {
    return {task.query.values + row * task.query.stride,
            task.num_heads,
            number,
            kv.key_size,
            task.query_norm,
            true};
  }
  number -= task.num_heads;
  if (number < kv.num_heads) {
    return {task.key.values + row * task.key.stride,
            kv.num_heads,
            number,
            kv.key_size,
            task.key_norm,
            true};
  }
  return {task.value.values + row * task.value.stride,
          kv.num_heads,
          number - kv.num_heads,
          kv.value_size,
          DeviceHeadNorm(),
          false};
}

// Sum of squares of `size` values by a warp.
__device__ __forceinline__ float SquaresOf(const float* values, int size) {
  const auto* const words = reinterpret_cast<const float4*>(values);
  float4 accumulators = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < size / 4; i += 32) {
    const float4 x = words[i];
    FmaFour(x, x, accumulators);
  }
  return FoldWarp(accumulators);
}

// A warp's work on one vector, of which each lane has elements lane + 32 k.
template <int kPerLane>
class HeadWarp {
 public:
  __device__ explicit HeadWarp(const HeadVector& vector) : vector_(vector) {}

  __device__ void LoadWeights() {
    const DeviceHeadNorm& norm = vector_.norm;
    const int first = norm.over_all_heads ? vector_.index * vector_.size : 0;
#pragma unroll
    for (int k = 0; k < kPerLane; ++k) {
      const int i = Element(k);
      weights_[k] = norm.weight != nullptr && i < vector_.size ? norm.weight[first + i] : 1.0f;
    }
  }

  // All that the vector becomes itself by is on its way at once.
  __device__ void Load(const DeviceRotation& rotation, int row) {
    const float* const from = vector_.heads + vector_.index * vector_.size;
#pragma unroll
    for (int k = 0; k < kPerLane; ++k) {
      const int i = Element(k);
      values_[k] = i < vector_.size ? from[i] : 0.0f;
    }
    num_pairs_ = vector_.rotates ? rotation.num_dims / 2 : 0;
    const float* const cosines = rotation.angles + row * rotation.num_dims;
#pragma unroll
    for (int k = 0; k < kPerLane / 2; ++k) {
      const int i = Element(k);
      cosines_[k] = i < num_pairs_ ? cosines[i] : 0.0f;
      sines_[k] = i < num_pairs_ ? cosines[num_pairs_ + i] : 0.0f;
    }
  }

  __device__ void StoreNormed(float epsilon, float* head) const {
    const float inverse = vector_.norm.weight == nullptr ? 1.0f : Inverse(epsilon);
#pragma unroll
    for (int k = 0; k < kPerLane; ++k) {
      const int i = Element(k);
      if (i < vector_.size) head[i] = f32::Mul(f32::Mul(inverse, values_[k]), weights_[k]);
    }
    __syncwarp();
  }

  __device__ void Rotate(RotaryPairing pairing, float* head) const {
    const bool neighbours = pairing == RotaryPairing::kNorm;
#pragma unroll
    for (int k = 0; k < kPerLane / 2; ++k) {
      const int i = Element(k);
      if (i >= num_pairs_) continue;
      float& first = head[neighbours ? 2 * i : i];
      float& second = head[neighbours ? 2 * i + 1 : i + num_pairs_];
      const float a = first;
      const float b = second;
      first = f32::Sub(f32::Mul(a, cosines_[k]), f32::Mul(b, sines_[k]));
      second = f32::Add(f32::Mul(a, sines_[k]), f32::Mul(b, cosines_[k]));
    }
    __syncwarp();
  }

 private:
  static __device__ int Element(int k) { return threadIdx.x % 32 + 32 * k; }

  __device__ float Inverse(float epsilon) const {
    if (vector_.norm.over_all_heads) {
      const int count = vector_.num_heads * vector_.size;
      return InverseRms(SquaresOf(vector_.heads, count), count, epsilon);
    }
    float accumulators[4] = {};  // Of the 128, those of this lane.
#pragma unroll
    for (int k = 0; k < kPerLane; ++k) {
      accumulators[k % 4] = f32::Fma(values_[k], values_[k], accumulators[k % 4]);
    }
    const float squares = FoldLanes(f32::Add(f32::Add(accumulators[0], accumulators[2]),
                                             f32::Add(accumulators[1], accumulators[3])));
    return InverseRms(squares, vector_.size, epsilon);
  }

  const HeadVector vector_;
  int num_pairs_;
  float weights_[kPerLane];
  float values_[kPerLane];
  float cosines_[kPerLane / 2];
  float sines_[kPerLane / 2];
};

// Rows of KvRunBytes. False in a lane that met a value which is not finite or too large.
__device__ __forceinline__ bool StoreF32(const float* head, int size, int slot, std::byte* run) {
  auto* const to = reinterpret_cast<float*>(run) + slot * size;
  bool is_finite = true;
  for (int i = threadIdx.x % 32; i < size; i += 32) {
    to[i] = head[i];
    is_finite = is_finite && f32::IsFinite(head[i]);
  }
  return is_finite;
}

__device__ __forceinline__ bool StoreF16(const float* head, int size, int slot, std::byte* run) {
  constexpr uint32_t kInfinity = 0x7c00;
  auto* const to = reinterpret_cast<uint32_t*>(run) + slot * size / 2;
  bool is_finite = true;
  for (int i = threadIdx.x % 32; i < size / 2; i += 32) {
    const uint32_t low = f32::ToF16(head[2 * i]);
    const uint32_t high = f32::ToF16(head[2 * i + 1]);
    to[i] = low | high << 16;
    is_finite = is_finite && (low & 0x7fff) < kInfinity && (high & 0x7fff) < kInfinity;
  }
  return is_finite;
}

// A lane a value, so a warp a block.
__device__ __forceinline__ bool StoreInt8(const float* head, int size, int slot, std::byte* run) {
  auto* const q = reinterpret_cast<int8_t*>(run) + slot * size;
  auto* const scales =
      reinterpret_cast<float*>(run + kKvPagePositions * size) + slot * KvScalesOf(size);
  const int lane = threadIdx.x % 32;
  bool is_finite = true;
  for (int block = 0; block < KvScalesOf(size); ++block) {
    const int i = block * kKvScaleBlock + lane;
    const float value = i < size ? head[i] : 0.0f;
    const uint32_t max = __reduce_max_sync(kAllLanes, f32::MagnitudeBits(value));
    const Int8Scale scale = Int8ScaleOf(max);
    is_finite = is_finite && max < f32::kInfinityBits;
    if (i < size) q[i] = static_cast<int8_t>(ToInt8(value, scale));
    if (lane == 0) scales[block] = scale.scale;
  }
  return is_finite;
}

__device__ __forceinline__ bool StoreRow(KvFormat format, const float* head, int size, int slot,
                                         std::byte* run) {
  switch (format) {
    case KvFormat::kF32:
      return StoreF32(head, size, slot, run);
    case KvFormat::kF16:
      return StoreF16(head, size, slot, run);
    case KvFormat::kInt8:
      return StoreInt8(head, size, slot, run);
  }
  return true;
}

// False in a lane that met a value which is not finite.
__device__ __forceinline__ bool IsFiniteHead(const float* head, int size) {
  bool is_finite = true;
  for (int i = threadIdx.x % 32; i < size; i += 32) is_finite = is_finite && f32::IsFinite(head[i]);
  return is_finite;
}

// Of a key or a value, by its number (HeadVectorOf). Returns what StoreRow does.
__device__ __forceinline__ bool StoreKeyOrValue(const PrepareTask& task, int number,
                                                const DeviceStepRow& place, const float* head) {
  const KvLayer& kv = task.kv;
  std::byte* const page = task.page_table[place.first_page + place.position / kKvPagePositions];
  const int key = number - task.num_heads;
  const bool is_key = key < kv.num_heads;
  const int64_t offset = is_key ? kv.keys_offset(key) : kv.values_offset(key - kv.num_heads);
  return StoreRow(kv.format, head, is_key ? kv.key_size : kv.value_size,
                  place.position % kKvPagePositions, page + offset);
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_HEAD_VECTOR_H_
