#include "strata/generate/kernels/cuda/prompt_attend.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_attend_kernels.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"

namespace strata {
namespace {

PromptAttendKernel KernelFor(const KvLayer& kv) {
  const int size = std::max(kv.key_size, kv.value_size);
  switch (kv.format) {
    case KvFormat::kF32:
      return PromptAttendKernelOfF32(size);
    case KvFormat::kF16:
      return PromptAttendKernelOfF16(size);
    case KvFormat::kInt8:
      return PromptAttendKernelOfInt8(size);
  }
  return {};
}

// A power of two, so that it divides the slots of a block.
int HeadsOfBlock(int heads_of_kv_head) {
  int heads = 1;
  while (heads < 8 && heads_of_kv_head % (2 * heads) == 0) heads *= 2;
  return heads;
}

}  // namespace

absl::Status AttendPromptRows(const PromptAttendTask& task, const KernelStream& stream) {
  const KvLayer& kv = task.kv;
  CHECK(kv.num_heads > 0 && task.num_heads % kv.num_heads == 0) << task.num_heads;
  CHECK(kv.key_size % 8 == 0 && kv.value_size % 8 == 0);
  CHECK(0 < task.runs.count && task.runs.count <= kMaxPromptRuns) << task.runs.count;
  CHECK(task.out.values != nullptr && task.out.size == int64_t{task.num_heads} * kv.value_size);
  const PromptAttendKernel kernel = KernelFor(kv);
  if (kernel.kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("attention of prompts over heads of ", kv.key_size,
                                                 " and ", kv.value_size, " values"));
  }
  const int heads = HeadsOfBlock(task.num_heads / kv.num_heads);
  const int rows_at_once = kernel.slots / heads;
  int tiles = 0;
  int num_rows = 0;
  for (int i = 0; i < task.runs.count; ++i) {
    tiles += (task.runs.runs[i].num_rows + rows_at_once - 1) / rows_at_once;
    num_rows += task.runs.runs[i].num_rows;
  }
  RETURN_IF_ERROR(AllowSharedBytes("attention of a prompt", kernel.kernel, kernel.shared_bytes));
  RETURN_IF_ERROR(LaunchKernel("attention of a prompt", kernel.kernel,
                               {.grid = dim3(tiles, task.num_heads / heads),
                                .block = static_cast<unsigned>(kernel.threads),
                                .shared_bytes = kernel.shared_bytes},
                               stream, task, heads));
  return QuantizePromptRows(
      {.num_vectors = num_rows, .vectors = task.out, .vectors_per_row = 1, .fault = task.fault},
      stream);
}

}  // namespace strata
