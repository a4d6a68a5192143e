// Where a step met a number that is NaN or infinite: the first such operation in the order of the
// model, and the lowest row in it. Kernels keep the minimum in one word of device memory, run on
// with every index in range, and the host names the tensor afterwards.
#ifndef STRATA_GENERATE_KERNELS_CUDA_STEP_FAULT_H_
#define STRATA_GENERATE_KERNELS_CUDA_STEP_FAULT_H_

#include <cstdint>

namespace strata {

inline constexpr uint32_t kNoFault = 0xffffffffu;

// Operations are numbered by whoever launches the kernels, below 2^24; rows are below 256.
constexpr uint32_t EncodeFault(uint32_t operation, uint32_t row) { return operation << 8 | row; }
constexpr uint32_t OperationOfFault(uint32_t fault) { return fault >> 8; }
constexpr uint32_t RowOfFault(uint32_t fault) { return fault & 255u; }

// What a kernel is told of it.
struct FaultReport {
  uint32_t* word = nullptr;  // Device memory, kNoFault at the beginning of a step.
  uint32_t operation = 0;
};

#ifdef __CUDACC__
__device__ __forceinline__ void ReportFault(const FaultReport& report, int row) {
  // EncodeFault is a function of the host.
  atomicMin(report.word, report.operation << 8 | static_cast<uint32_t>(row));
}
#endif

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_STEP_FAULT_H_
