// The weights of a graph that every row meets, in device memory: matrices in the blocks of the
// file, vectors as f32. They go there once, when the object is made.
//
// Immutable. The device outlives it; the graph's addresses are the names that it knows them by.
#ifndef STRATA_GENERATE_CUDA_DEVICE_WEIGHTS_H_
#define STRATA_GENERATE_CUDA_DEVICE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class DeviceWeights {
 public:
  // Shows progress on stderr. Errors: the device has too little memory, a file that cannot be read.
  static absl::StatusOr<std::unique_ptr<DeviceWeights>> Create(const GgufFile& file,
                                                               const ModelGraph& graph,
                                                               Device& device);

  DeviceMatrix Matrix(const Linear& linear) const;
  // The matrices themselves are in the expert table.
  DeviceExpertMatrix Experts(const ExpertLinears& linears) const;
  // Null for an empty vector.
  const float* Vector(const std::vector<float>& values) const;
  // Null for a matrix that is not here.
  const std::byte* Find(const WeightMatrix& weights) const;

  int64_t bytes() const { return memory_.size(); }

 private:
  DeviceWeights() = default;
  absl::Status Load(const GgufFile& file, const ModelGraph& graph, Device& device);

  DeviceMemory memory_;
  absl::flat_hash_map<const void*, std::byte*> addresses_;  // By address in host memory.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_DEVICE_WEIGHTS_H_
