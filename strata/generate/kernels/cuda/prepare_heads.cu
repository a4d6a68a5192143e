#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kWarps = 4;
constexpr int kMaxHeadSize = 512;

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

// Head `index` of all `heads` of a row to shared memory, normed. By a warp.
__device__ __forceinline__ void LoadHead(const float* heads, int num_heads, int index, int size,
                                         const DeviceHeadNorm& norm, float epsilon, float* head) {
  const float* const from = heads + index * size;
  float inverse = 1.0f;
  const float* weight = norm.weight;
  if (weight != nullptr && norm.over_all_heads) {
    inverse = InverseRms(SquaresOf(heads, num_heads * size), num_heads * size, epsilon);
    weight += index * size;
  } else if (weight != nullptr) {
    inverse = InverseRms(SquaresOf(from, size), size, epsilon);
  }
  for (int i = threadIdx.x % 32; i < size; i += 32) {
    const float value = from[i];
    head[i] = weight == nullptr ? value : f32::Mul(f32::Mul(inverse, value), weight[i]);
  }
  __syncwarp();
}

__device__ __forceinline__ void RotateHead(const DeviceRotation& rotation, int row, float* head) {
  const int num_pairs = rotation.num_dims / 2;
  const float* const cosines = rotation.angles + row * rotation.num_dims;
  const float* const sines = cosines + num_pairs;
  const bool neighbours = rotation.pairing == RotaryPairing::kNorm;
  for (int i = threadIdx.x % 32; i < num_pairs; i += 32) {
    float& first = head[neighbours ? 2 * i : i];
    float& second = head[neighbours ? 2 * i + 1 : i + num_pairs];
    const float a = first;
    const float b = second;
    first = f32::Sub(f32::Mul(a, cosines[i]), f32::Mul(b, sines[i]));
    second = f32::Add(f32::Mul(a, sines[i]), f32::Mul(b, cosines[i]));
  }
  __syncwarp();
}

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

// A warp has one vector of a row: a query's, a key's or a value's head.
__global__ void __launch_bounds__(32 * kWarps) Prepare(PrepareTask task) {
  __shared__ float heads[kWarps][kMaxHeadSize];
  WaitForPredecessor();
  ReleaseSuccessor();
  const int row = blockIdx.y;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  float* const head = heads[warp];
  const KvLayer& kv = task.kv;
  int index = blockIdx.x * kWarps + warp;
  if (index < task.num_heads) {
    LoadHead(task.query.values + row * task.query.stride, task.num_heads, index, kv.key_size,
             task.query_norm, task.epsilon, head);
    RotateHead(task.rotation, row, head);
    float* const to = task.queries + (int64_t{row} * task.num_heads + index) * kv.key_size;
    for (int i = lane; i < kv.key_size; i += 32) {
      to[i] = head[i];
      if (!f32::IsFinite(head[i])) ReportFault(task.fault, row);
    }
    return;
  }
  index -= task.num_heads;
  if (index >= 2 * kv.num_heads) return;
  const DeviceStepRow& place = task.step->rows[row];
  std::byte* const page = task.page_table[place.first_page + place.position / kKvPagePositions];
  const int slot = place.position % kKvPagePositions;
  bool is_finite = true;
  if (index < kv.num_heads) {
    LoadHead(task.key.values + row * task.key.stride, kv.num_heads, index, kv.key_size,
             task.key_norm, task.epsilon, head);
    RotateHead(task.rotation, row, head);
    is_finite = StoreRow(kv.format, head, kv.key_size, slot, page + kv.keys_offset(index));
  } else {
    index -= kv.num_heads;
    LoadHead(task.value.values + row * task.value.stride, kv.num_heads, index, kv.value_size,
             DeviceHeadNorm(), task.epsilon, head);
    is_finite = StoreRow(kv.format, head, kv.value_size, slot, page + kv.values_offset(index));
  }
  if (!is_finite) ReportFault(task.fault, row);
}

void CheckSize(int size) { CHECK(0 < size && size <= kMaxHeadSize && size % 8 == 0) << size; }

}  // namespace

absl::Status PrepareHeads(const PrepareTask& task, const KernelStream& stream) {
  CHECK(0 < task.num_rows && task.num_rows <= kMaxRows) << task.num_rows;
  CheckSize(task.kv.key_size);
  CheckSize(task.kv.value_size);
  CHECK(task.rotation.num_dims % 2 == 0 && task.rotation.num_dims <= task.kv.key_size)
      << task.rotation.num_dims;
  const int num_vectors = task.num_heads + 2 * task.kv.num_heads;
  return LaunchKernel(
      "heads of attention", Prepare,
      {.grid = dim3((num_vectors + kWarps - 1) / kWarps, task.num_rows), .block = 32 * kWarps},
      stream, task);
}

}  // namespace strata
