#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::StatusOr<std::unique_ptr<CudaStepEngine>> CreateCudaEngine(
    const CudaEngineOptions& /*options*/, const GgufFile& /*file*/, const ModelGraph& /*graph*/,
    Device& /*device*/) {
  return absl::UnavailableError("this program was built without a CUDA toolkit");
}

absl::StatusOr<int64_t> CudaWorkspaceBytes(const ModelGraph& /*graph*/, KvType /*kv_type*/,
                                           int64_t /*max_context*/, int64_t /*prompt_batch*/) {
  return absl::UnavailableError("this program was built without a CUDA toolkit");
}

}  // namespace strata
