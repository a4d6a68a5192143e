#include "strata/generate/cuda/step_graph.h"

#include <cstddef>
#include <memory>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda_runtime_api.h"
#include "glog/logging.h"
#include "strata/core/cuda_status.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

}  // namespace

void StepGraph::Destroy::operator()(cudaGraphExec_t exec) const {
  const absl::Status status = CudaStatus(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  if (!status.ok()) LOG(ERROR) << status;
}

absl::StatusOr<StepGraph> StepGraph::Record(cudaStream_t stream,
                                            absl::FunctionRef<absl::Status()> record) {
  // Other threads go on with copies and allocations meanwhile.
  RETURN_IF_ERROR(CudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                             "cudaStreamBeginCapture"));
  const absl::Status recorded = record();
  cudaGraph_t raw = nullptr;
  const absl::Status ended = CudaStatus(cudaStreamEndCapture(stream, &raw), "cudaStreamEndCapture");
  const OwnedGraph graph(raw);
  RETURN_IF_ERROR(recorded);
  RETURN_IF_ERROR(ended);
  StepGraph step;
  size_t num_nodes = 0;
  RETURN_IF_ERROR(
      CudaStatus(cudaGraphGetNodes(graph.get(), nullptr, &num_nodes), "cudaGraphGetNodes"));
  step.num_nodes_ = static_cast<int>(num_nodes);
  cudaGraphExec_t exec = nullptr;
  RETURN_IF_ERROR(CudaStatus(cudaGraphInstantiate(&exec, graph.get(), 0), "cudaGraphInstantiate"));
  step.exec_.reset(exec);
  return step;
}

absl::Status StepGraph::Launch(cudaStream_t stream) const {
  return CudaStatus(cudaGraphLaunch(exec_.get(), stream), "cudaGraphLaunch");
}

}  // namespace strata
