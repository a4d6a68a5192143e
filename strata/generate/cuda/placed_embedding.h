// The embedding where kernels read its rows: in device memory where the output is tied to it, else in
// pinned memory of the host, or in device memory of its own where nothing can be pinned. Beside it
// the tables by which kernels decode blocks.
//
// The graph's weights, the device weights and the host memory outlive it.
#ifndef STRATA_GENERATE_CUDA_PLACED_EMBEDDING_H_
#define STRATA_GENERATE_CUDA_PLACED_EMBEDDING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/host_memory.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class PlacedEmbedding {
 public:
  PlacedEmbedding() = default;
  // Copies are in the order of the stream.
  static absl::StatusOr<PlacedEmbedding> Create(const ModelGraph& graph,
                                                const DeviceWeights& weights,
                                                HostMemory& host_memory, Device& device,
                                                const DeviceStream& stream);

  const DeviceEmbedding& rows() const { return rows_; }
  // Of device memory of its own.
  int64_t device_bytes() const { return on_device_.size(); }

 private:
  HostBuffer on_host_;
  DeviceMemory on_device_;
  DeviceMemory tables_;
  DeviceEmbedding rows_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_PLACED_EMBEDDING_H_
