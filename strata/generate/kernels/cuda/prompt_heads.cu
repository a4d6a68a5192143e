#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kWarps = 4;
constexpr int kMaxHeadSize = 512;
constexpr int kQuads = kMaxHeadSize / 128;

// Values 4l to 4l + 3 of each 128 of a head, of lane l; zero behind its end.
struct HeadValues {
  float4 quads[kQuads];
};

__device__ __forceinline__ HeadValues LoadHead(const float* from, int size) {
  HeadValues head;
#pragma unroll
  for (int k = 0; k < kQuads; ++k) {
    const int i = 128 * k + threadIdx.x % 32 * 4;
    head.quads[k] = i < size ? *reinterpret_cast<const float4*>(from + i) : float4{};
  }
  return head;
}

// Squares of neighbouring heads, one after the other.
__device__ __forceinline__ float SquaresOf(const float* values, int size) {
  float4 accumulators = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
  for (int i = threadIdx.x % 32 * 4; i < size; i += 128) {
    const float4 x = *reinterpret_cast<const float4*>(values + i);
    FmaFour(x, x, accumulators);
  }
  return FoldWarp(accumulators);
}

__device__ __forceinline__ float4 Normed(const float4& x, float inverse, const float4& weight) {
  return {f32::Mul(f32::Mul(inverse, x.x), weight.x), f32::Mul(f32::Mul(inverse, x.y), weight.y),
          f32::Mul(f32::Mul(inverse, x.z), weight.z), f32::Mul(f32::Mul(inverse, x.w), weight.w)};
}

// Head `index` of all heads of a row to shared memory, normed. By a warp.
__device__ __forceinline__ void PlaceHead(const float* heads, int num_heads, int index, int size,
                                          const DeviceHeadNorm& norm, float epsilon, float* head) {
  const float* const from = heads + index * size;
  HeadValues values = LoadHead(from, size);
  if (norm.weight != nullptr) {
    const bool over_all = norm.over_all_heads;
    const int count = over_all ? num_heads * size : size;
    const float inverse = InverseRms(SquaresOf(over_all ? heads : from, count), count, epsilon);
    const HeadValues weight = LoadHead(norm.weight + (over_all ? index * size : 0), size);
#pragma unroll
    for (int k = 0; k < kQuads; ++k) {
      values.quads[k] = Normed(values.quads[k], inverse, weight.quads[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < kQuads; ++k) {
    const int i = 128 * k + threadIdx.x % 32 * 4;
    if (i < size) *reinterpret_cast<float4*>(head + i) = values.quads[k];
  }
  __syncwarp();
}

__device__ __forceinline__ void RotateHead(const DeviceRotation& rotation, int64_t row,
                                           float* head) {
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

// Into row `slot` of a run of a page. False in a lane that met a value which is not finite or too
// large.
__device__ __forceinline__ bool StoreRow(KvFormat format, const float* head, int size, int slot,
                                         std::byte* run) {
  constexpr uint32_t kHalfInfinity = 0x7c00;
  const int lane = threadIdx.x % 32;
  bool is_finite = true;
  if (format == KvFormat::kF32) {
    auto* const to = reinterpret_cast<float*>(run) + slot * size;
    for (int i = lane; i < size; i += 32) {
      to[i] = head[i];
      is_finite = is_finite && f32::IsFinite(head[i]);
    }
    return is_finite;
  }
  if (format == KvFormat::kF16) {
    auto* const to = reinterpret_cast<uint32_t*>(run) + slot * size / 2;
    for (int i = lane; i < size / 2; i += 32) {
      const uint32_t low = f32::ToF16(head[2 * i]);
      const uint32_t high = f32::ToF16(head[2 * i + 1]);
      to[i] = low | high << 16;
      is_finite = is_finite && (low & 0x7fff) < kHalfInfinity && (high & 0x7fff) < kHalfInfinity;
    }
    return is_finite;
  }
  auto* const q = reinterpret_cast<int8_t*>(run) + slot * size;
  auto* const scales =
      reinterpret_cast<float*>(run + kKvPagePositions * size) + slot * KvScalesOf(size);
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

__device__ __forceinline__ void PrepareQuery(const PromptPrepareTask& task, int64_t row, int index,
                                             float* head) {
  const int size = task.kv.key_size;
  PlaceHead(task.query.values + row * task.query.stride, task.num_heads, index, size,
            task.query_norm, task.epsilon, head);
  RotateHead(task.rotation, row, head);
  float* const to = task.queries + (row * task.num_heads + index) * size;
  for (int i = threadIdx.x % 32; i < size; i += 32) {
    to[i] = head[i];
    if (!f32::IsFinite(head[i])) ReportPromptFault(task.fault, row);
  }
}

// Index counts the heads of keys, then those of values.
__device__ __forceinline__ void StoreKeyOrValue(const PromptPrepareTask& task, int row, int index,
                                                float* head) {
  const KvLayer& kv = task.kv;
  const PromptRun& run = RunOf(task.runs, row);
  const int position = run.first_position + row - run.first_row;
  std::byte* const page = task.page_table[run.first_page + position / kKvPagePositions];
  const int slot = position % kKvPagePositions;
  bool is_finite = true;
  if (index < kv.num_heads) {
    PlaceHead(task.key.values + row * task.key.stride, kv.num_heads, index, kv.key_size,
              task.key_norm, task.epsilon, head);
    RotateHead(task.rotation, row, head);
    is_finite = StoreRow(kv.format, head, kv.key_size, slot, page + kv.keys_offset(index));
  } else {
    index -= kv.num_heads;
    PlaceHead(task.value.values + row * task.value.stride, kv.num_heads, index, kv.value_size,
              DeviceHeadNorm(), task.epsilon, head);
    is_finite = StoreRow(kv.format, head, kv.value_size, slot, page + kv.values_offset(index));
  }
  if (!is_finite) ReportPromptFault(task.fault, row);
}

// A warp has one vector of a row: a query's, a key's or a value's head.
__global__ void __launch_bounds__(32 * kWarps)
    Prepare(const __grid_constant__ PromptPrepareTask task) {
  __shared__ float4 heads[kWarps][kMaxHeadSize / 4];
  WaitForPredecessor();
  ReleaseSuccessor();
  const int row = blockIdx.y;
  const int warp = threadIdx.x / 32;
  auto* const head = reinterpret_cast<float*>(heads[warp]);
  const int index = blockIdx.x * kWarps + warp;
  if (index < task.num_heads) {
    PrepareQuery(task, row, index, head);
  } else if (index < task.num_heads + 2 * task.kv.num_heads) {
    StoreKeyOrValue(task, row, index - task.num_heads, head);
  }
}

void CheckSize(int size) { CHECK(0 < size && size <= kMaxHeadSize && size % 8 == 0) << size; }

}  // namespace

absl::Status PreparePromptHeads(const PromptPrepareTask& task, const KernelStream& stream) {
  CheckSize(task.kv.key_size);
  CheckSize(task.kv.value_size);
  CHECK(task.rotation.num_dims % 2 == 0 && task.rotation.num_dims <= task.kv.key_size)
      << task.rotation.num_dims;
  CHECK(0 < task.runs.count && task.runs.count <= kMaxPromptRuns) << task.runs.count;
  const PromptRun& last = task.runs.runs[task.runs.count - 1];
  const int num_vectors = task.num_heads + 2 * task.kv.num_heads;
  return LaunchKernel(
      "heads of a prompt", Prepare,
      {.grid = dim3((num_vectors + kWarps - 1) / kWarps, last.first_row + last.num_rows),
       .block = 32 * kWarps},
      stream, task);
}

}  // namespace strata
