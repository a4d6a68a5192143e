// How long launches take when they are replayed as one graph. Launches differ in the memory that
// they read, so that it comes from where it would come from in a model and not from a cache.
#ifndef STRATA_GENERATE_KERNELS_CUDA_KERNEL_TIMER_H_
#define STRATA_GENERATE_KERNELS_CUDA_KERNEL_TIMER_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "cuda_runtime.h"
#include "glog/logging.h"
#include "strata/core/cli/quartiles.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

// Whatever CUDA refuses ends the program. Used by one thread.
class KernelTimer {
 public:
  // Launches one kernel, the `index`-th of a graph.
  using LaunchOne = absl::FunctionRef<absl::Status(int index, const KernelStream& stream)>;

  explicit KernelTimer(int num_repetitions) : num_repetitions_(num_repetitions) {
    Must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    Must(cudaEventCreate(&begin_));
    Must(cudaEventCreate(&end_));
  }
  ~KernelTimer() {
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
    cudaStreamDestroy(stream_);
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

  // Microseconds a launch, in graphs of `num_launches`.
  Quartiles Time(int num_launches, bool programmatic, LaunchOne launch) {
    Must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < num_launches; ++i) {
      const absl::Status status = launch(i, {.stream = stream_, .programmatic = programmatic});
      CHECK(status.ok()) << status;
    }
    cudaGraph_t graph;
    Must(cudaStreamEndCapture(stream_, &graph));
    cudaGraphExec_t launches;
    Must(cudaGraphInstantiate(&launches, graph, 0));
    std::vector<double> microseconds;
    for (int repetition = -kWarmUps; repetition < num_repetitions_; ++repetition) {
      Must(cudaEventRecord(begin_, stream_));
      Must(cudaGraphLaunch(launches, stream_));
      Must(cudaEventRecord(end_, stream_));
      Must(cudaStreamSynchronize(stream_));
      float milliseconds = 0.0f;
      Must(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (repetition >= 0) microseconds.push_back(1e3 * milliseconds / num_launches);
    }
    Must(cudaGraphExecDestroy(launches));
    Must(cudaGraphDestroy(graph));
    return Quartiles::Of(microseconds);
  }

 private:
  static constexpr int kWarmUps = 3;

  static void Must(cudaError_t error) { CHECK_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

  const int num_repetitions_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_KERNEL_TIMER_H_
