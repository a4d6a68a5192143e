#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/cuda/expert_state.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/mail_misses.h"

namespace strata {
namespace {

constexpr int kThreads = 256;
constexpr int kAwaitBlocks = 4;  // Enough loads on their way for the link.
constexpr int kLoadsAtOnce = 4;

__device__ __forceinline__ void StoreFlag(uint64_t* flag, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}
__device__ __forceinline__ void StoreWord(uint32_t* word, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ __forceinline__ uint32_t LoadFlag(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ __forceinline__ int64_t NowNs() {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
// What the host has written.
__device__ __forceinline__ float4 LoadFromHost(const float4* from) {
  float4 x;
  asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(from)
               : "memory");
  return x;
}

// By the first warp: what is missed, into the request and into what the device keeps of it.
__device__ __forceinline__ int ListMisses(const PostTask& task) {
  const int lane = threadIdx.x;
  bool is_missed = false;
  int expert = 0;
  if (lane < task.routing.num_chosen) {
    const auto choice = static_cast<unsigned>(__ldcg(task.routing.experts + lane));
    expert = static_cast<int>(min(choice, task.routing.num_experts - 1u));
    is_missed = !IsInSlot(task.experts[expert]);
  }
  const unsigned missed = __ballot_sync(0xffffffffu, is_missed);
  if (is_missed) {
    const int place = __popc(missed & ((1u << lane) - 1u));
    task.mail.request->ranks[place] = lane;
    task.mail.request->experts[place] = expert;
    task.mail.state->ranks[place] = lane;
    if (task.mail.staged_table != nullptr) {
      std::byte* const memory = task.mail.staged_memory + place * task.mail.staged_stride;
      DeviceExpert& entry = task.mail.staged_table[expert];
#pragma unroll
      for (int i = 0; i < 3; ++i) entry.parts[i] = memory + task.part_offsets[i];
    }
  } else if (task.mail.staged_table != nullptr && lane < task.routing.num_chosen) {
    const auto* const from =
        reinterpret_cast<const unsigned long long*>(&task.experts[expert].parts[0]);
    auto* const to =
        reinterpret_cast<unsigned long long*>(&task.mail.staged_table[expert].parts[0]);
#pragma unroll
    for (int i = 0; i < 3; ++i) to[i] = __ldcg(from + i);
  }
  return __popc(missed);
}

__global__ void __launch_bounds__(kThreads) Post(PostTask task) {
  __shared__ int num_missed;
  WaitForPredecessor();
  ReleaseSuccessor();
  if (threadIdx.x < 32) {
    const int count = ListMisses(task);
    if (threadIdx.x == 0) num_missed = count;
  }
  __syncthreads();
  const int count = num_missed;
  if (count > 0 && task.x != nullptr) {
    const auto* const from = reinterpret_cast<const float4*>(task.x);
    auto* const to = reinterpret_cast<float4*>(task.mail.x);
    for (int i = threadIdx.x; i < task.mail.width / 4; i += kThreads) to[i] = __ldcg(from + i);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  MailState& state = *task.mail.state;
  const uint32_t number = state.number + 1;
  state.number = number;
  state.num_missed = count;
  if (task.is_first) state.is_late = 0;
  // The barrier and the release order all that this block has stored before the flag.
  StoreFlag(&task.mail.request->flag, uint64_t{number} << 32 | static_cast<uint32_t>(count));
}

// By one thread: whether the answer is there.
__device__ __forceinline__ bool WaitForAnswer(const AwaitTask& task) {
  MailState& state = *task.mail.state;
  auto* const is_late = reinterpret_cast<volatile uint32_t*>(&state.is_late);
  if (*is_late != 0) return false;
  const uint32_t number = state.number;
  const int64_t end = NowNs() + task.limit_ns;
  while (LoadFlag(task.mail.answered) != number) {
    if (NowNs() < end) continue;
    *is_late = 1;
    StoreWord(task.mail.late, 1);
    return false;
  }
  return true;
}

__global__ void __launch_bounds__(kThreads) Await(AwaitTask task) {
  __shared__ bool is_there;
  WaitForPredecessor();
  ReleaseSuccessor();
  const ExpertMail& mail = task.mail;
  const int num_missed = mail.state->num_missed;
  if (num_missed == 0) return;
  if (threadIdx.x == 0) is_there = WaitForAnswer(task);
  __syncthreads();
  if (!is_there || mail.staged_table != nullptr) return;
  const int words = static_cast<int>(mail.width / 4);
  const int total = num_missed * words;
  const auto* const from = reinterpret_cast<const float4*>(mail.answers);
  auto* const to = reinterpret_cast<float4*>(mail.by_rank);
  constexpr int kStride = kAwaitBlocks * kThreads;
  for (int begin = blockIdx.x * kThreads + threadIdx.x; begin < total;
       begin += kLoadsAtOnce * kStride) {
    float4 values[kLoadsAtOnce];
#pragma unroll
    for (int k = 0; k < kLoadsAtOnce; ++k) {
      const int i = begin + k * kStride;
      if (i < total) values[k] = LoadFromHost(from + i);
    }
#pragma unroll
    for (int k = 0; k < kLoadsAtOnce; ++k) {
      const int i = begin + k * kStride;
      if (i >= total) break;
      const int place = i / words;
      to[mail.state->ranks[place] * words + (i - place * words)] = values[k];
    }
  }
}

}  // namespace

absl::Status PostMisses(const PostTask& task, const KernelStream& stream) {
  CHECK_EQ(task.mail.width % 4, 0);
  CHECK(0 < task.routing.num_chosen && task.routing.num_chosen <= kMaxChosenExperts);
  return LaunchKernel("posting of missed experts", Post, {.block = kThreads}, stream, task);
}

absl::Status AwaitMisses(const AwaitTask& task, const KernelStream& stream) {
  return LaunchKernel("waiting for missed experts", Await,
                      {.grid = kAwaitBlocks, .block = kThreads}, stream, task);
}

}  // namespace strata
