// How steps of one row on a GPU have what they miss served, as --miss says: by their own kernels, or
// by the host through a mailbox (expert_mail.h), always or whenever that is faster.
//
// Used by the engine's thread; what it is made of outlives it.
#ifndef STRATA_GENERATE_CUDA_MISS_SERVICE_H_
#define STRATA_GENERATE_CUDA_MISS_SERVICE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/miss_chooser.h"
#include "strata/generate/cuda/miss_server.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

class MissService {
 public:
  // Takes the mailbox from the region: once to measure it, then of pinned memory.
  void LayMailbox(const ModelGraph& graph, DeviceRegion& pinned);
  // Before all that follows; `experts` have their slots. kUnimplemented for a model of which the
  // host can serve no step, and an error of the device.
  absl::Status Start(ExpertPlacement::Misses misses, int num_threads, const ModelGraph& graph,
                     ExpertPlacement& experts, const StepMemory& memory, Device& device);

  // For kernels.
  const ExpertMail& mail() const { return mail_; }
  // Of the blobs of each layer that has experts, where the mailbox brings them.
  const std::vector<std::array<int64_t, 3>>& part_offsets() const { return part_offsets_; }

  // Whether the host is to serve the next step of one row, as it always is while there are experts
  // that kernels cannot read; and who then serves its misses.
  bool ServesNext(bool some_are_unreadable);
  MissPath path() const { return path_; }
  // Around such a step: before it is launched, and until it has answered all of it.
  void BeginStep() { server_->BeginStep(); }
  absl::Status Serve() { return server_->Serve(); }
  // When it has ended.
  absl::Status CheckInTime() const { return server_->CheckInTime(); }
  // After each step of one row for which ServesNext was asked: how long it took.
  void AddStep(double ms);

 private:
  absl::Status StartStaging(const ModelGraph& graph, ExpertPlacement& experts,
                            const StepMemory& memory, Device& device);

  ExpertMail mail_;
  std::vector<std::array<int64_t, 3>> part_offsets_;
  MissPath path_ = MissPath::kRead;
  std::unique_ptr<MissServer> server_;  // Null: kernels read all that they miss.
  bool serves_if_it_must_ = false;      // Kernels read what they can.
  bool must_serve_ = false;             // Of the last step for which ServesNext was asked.
  std::optional<MissChooser> chooser_;  // Nothing: the server serves all.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_MISS_SERVICE_H_
