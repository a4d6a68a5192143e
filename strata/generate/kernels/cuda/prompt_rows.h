// The rows of a step that has many: whole pieces of texts, one after the other. Here a step has as
// many rows as the memory that its arrays were given.
//
// No result of a row depends on how many rows the step has or on what the others are, so a text
// cut into other pieces gives the same bits.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ROWS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ROWS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

inline constexpr int kMaxPromptRuns = 16;

// Rows [first_row, first_row + num_rows) are a sequence's positions from first_position on.
struct PromptRun {
  int32_t first_row = 0;
  int32_t num_rows = 0;
  int32_t first_position = 0;
  int32_t first_page = 0;  // Of its sequence: an index of the page table.
};

// All rows of a step, ascending; passed to kernels by value.
struct PromptRuns {
  int32_t count = 0;
  PromptRun runs[kMaxPromptRuns] = {};
};

#ifdef __CUDACC__

// The run of a row, which is in one.
__device__ __forceinline__ const PromptRun& RunOf(const PromptRuns& runs, int row) {
  int i = 0;
  while (i + 1 < runs.count && runs.runs[i + 1].first_row <= row) ++i;
  return runs.runs[i];
}

// A report has room for rows below 256: later ones count as the last of these.
__device__ __forceinline__ void ReportPromptFault(const FaultReport& report, int64_t row) {
  ReportFault(report, static_cast<int>(row < 255 ? row : 255));
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ROWS_H_
