// Brings the experts that a step on the GPU has missed to device memory, from wherever they lie in
// host memory, pinned or not; the step computes them there.
//
// Used by the engine's thread. What it is made of outlives it.
#ifndef STRATA_GENERATE_CUDA_MISS_STAGER_H_
#define STRATA_GENERATE_CUDA_MISS_STAGER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"
#include "strata/generate/cuda/miss_server.h"
#include "strata/generate/kernels/cuda/expert_mail.h"

namespace strata {

class MissStager : public MissServer {
 public:
  // With room for `num_chosen` blobs of the largest kind.
  static absl::StatusOr<std::unique_ptr<MissStager>> Create(const ExpertGeometry& geometry,
                                                            const ExpertSource& source,
                                                            int num_chosen, Device& device,
                                                            const ExpertMail& mail);

  // Where the kernels find what was brought: blob i of a request is `stride` bytes behind the one
  // before, each part where the layout of its layer has it.
  std::byte* memory() const { return memory_.data(); }
  int64_t stride() const { return stride_; }
  int64_t bytes() const { return memory_.size(); }

 private:
  MissStager(const ExpertGeometry& geometry, const ExpertSource& source, Device& device,
             const ExpertMail& mail);
  absl::Status Answer(int layer, absl::Span<const int32_t> experts) override;

  const ExpertGeometry& geometry_;
  const ExpertSource& source_;
  Device& device_;
  int64_t stride_ = 0;
  DeviceStream stream_;
  DeviceMemory memory_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_MISS_STAGER_H_
