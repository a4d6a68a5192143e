// A recorded sequence of kernels, replayed with one call.
#ifndef STRATA_GENERATE_CUDA_STEP_GRAPH_H_
#define STRATA_GENERATE_CUDA_STEP_GRAPH_H_

#include <memory>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda_runtime_api.h"

namespace strata {

// Move-only. Runs on the stream that it is given, behind what that holds.
class StepGraph {
 public:
  StepGraph() = default;

  // What `record` launches on `stream`, which runs none of it. An error of `record` is returned.
  static absl::StatusOr<StepGraph> Record(cudaStream_t stream,
                                          absl::FunctionRef<absl::Status()> record);

  absl::Status Launch(cudaStream_t stream) const;
  int num_nodes() const { return num_nodes_; }

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t exec) const;
  };

  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy> exec_;
  int num_nodes_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_STEP_GRAPH_H_
