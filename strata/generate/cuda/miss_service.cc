#include "strata/generate/cuda/miss_service.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/miss_computer.h"
#include "strata/generate/cuda/miss_stager.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

using Misses = ExpertPlacement::Misses;

void MissService::LayMailbox(const ModelGraph& graph, DeviceRegion& pinned) {
  mail_.width = graph.width;
  mail_.request = pinned.Take<MailRequest>(1);
  mail_.x = pinned.Take<float>(graph.width);
  mail_.answered = pinned.Take<uint32_t>(1);
  mail_.answers = pinned.Take<float>(NumChoices(graph, 1) * graph.width);
  mail_.late = pinned.Take<uint32_t>(1);
}

absl::Status MissService::Start(Misses misses, int num_threads, const ModelGraph& graph,
                                ExpertPlacement& experts, const StepMemory& memory,
                                Device& device) {
  const bool misses_none = experts.slots().num_slots() == experts.geometry().size();
  const bool may_be_needed = experts.may_be_unreadable();
  if (misses_none || (misses == Misses::kRead && !may_be_needed)) return absl::OkStatus();
  new (mail_.request) MailRequest();
  *mail_.answered = *mail_.late = 0;
  mail_.state = memory.mail_state;
  mail_.by_rank = memory.mailed;
  if (misses == Misses::kStage) return StartStaging(graph, experts, memory, device);
  serves_if_it_must_ = misses == Misses::kRead;
  const absl::Status can_be_mailed = CheckMissesCanBeMailed(graph);
  if (misses != Misses::kCpu && !can_be_mailed.ok()) {
    LOG(INFO) << "all misses are read: " << can_be_mailed.message();
    serves_if_it_must_ = true;
    return may_be_needed ? StartStaging(graph, experts, memory, device) : absl::OkStatus();
  }
  RETURN_IF_ERROR(can_be_mailed);
  path_ = MissPath::kCpu;
  server_ = std::make_unique<MissComputer>(
      MissComputer::Options{.num_threads = std::max(1, num_threads)}, graph, mail_,
      [&experts](int number) {
        const ExpertEntry& entry = experts.Entry(number);
        return entry.form == EntryForm::kStage ? experts.PartsInHostMemory(number) : entry.parts;
      });
  if (misses == Misses::kAuto) chooser_.emplace();
  return absl::OkStatus();
}

absl::Status MissService::StartStaging(const ModelGraph& graph, ExpertPlacement& experts,
                                       const StepMemory& memory, Device& device) {
  const ExpertGeometry& geometry = experts.geometry();
  const ExpertSource& source = experts.host().source();
  ASSIGN_OR_RETURN(std::unique_ptr<MissStager> stager,
                   MissStager::Create(geometry, source, graph.experts.num_used(), device, mail_));
  mail_.staged_table = memory.staged_table;
  mail_.staged_memory = stager->memory();
  mail_.staged_stride = stager->stride();
  for (int layer = 0; layer < static_cast<int>(geometry.layers().size()); ++layer) {
    const BlobLayout blob = source.files().LayoutOf(geometry.IdOf(layer * geometry.num_experts()));
    std::array<int64_t, 3>& offsets = part_offsets_.emplace_back();
    for (int part = 0; part < blob.num_parts(); ++part) {
      offsets[static_cast<size_t>(part)] = blob.offset(part);
    }
  }
  path_ = MissPath::kStage;
  server_ = std::move(stager);
  return absl::OkStatus();
}

bool MissService::ServesNext(bool some_are_unreadable) {
  must_serve_ = server_ != nullptr && some_are_unreadable;
  if (server_ == nullptr) return false;
  if (must_serve_) return true;
  if (serves_if_it_must_) return false;
  return !chooser_.has_value() || chooser_->Next() == MissChooser::Way::kCpu;
}

void MissService::AddStep(double ms) {
  if (chooser_.has_value() && !must_serve_) chooser_->AddStep(ms);
}

}  // namespace strata
