#include "strata/tools/stage_experiments/filler_arm.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/host_memory.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"

namespace strata::stagebench {
namespace {

absl::string_view NameOf(FillerArm::Way way) {
  switch (way) {
    case FillerArm::Way::kReference:
      return "reference";
    case FillerArm::Way::kStages:
      return "stages";
    case FillerArm::Way::kDefault:
      return "default";
  }
  return "";
}

CacheFiller::Options FillerOptions(FillerArm::Way way, int num_readers) {
  switch (way) {
    case FillerArm::Way::kReference:
      return {.num_readers = 1,
              .num_queues = 1,
              .issue = CopyQueue::Issue::kOneByOne,
              .copy_in_place = false,
              .wait_for_each_copy = true};
    case FillerArm::Way::kStages:
      return {.num_readers = num_readers, .copy_in_place = false};
    case FillerArm::Way::kDefault:
      return {.num_readers = num_readers};
  }
  return {};
}

HostMemory::Options MemoryOptions(FillerArm::Way way, const Bench& bench) {
  if (way != FillerArm::Way::kReference) return bench.stage_memory;
  return {.form = HostMemoryForm::kPageable, .huge_pages = false};
}

}  // namespace

FillerArm::FillerArm(const Options& options, const Bench& bench, const ExpertFiles& files)
    : name_(NameOf(options.way)),
      memory_(bench.device, bench.budget, MemoryOptions(options.way, bench)),
      reader_(files, options.path) {}

absl::StatusOr<std::unique_ptr<FillerArm>> FillerArm::Create(const Options& options,
                                                             const Bench& bench,
                                                             const ExpertFiles& files) {
  auto arm = absl::WrapUnique(new FillerArm(options, bench, files));
  ASSIGN_OR_RETURN(arm->stages_, StagePool::Create({.stage_bytes = files.max_blob_bytes(),
                                                    .num_stages = bench.effort.num_stages},
                                                   arm->memory_));
  if (options.way == Way::kDefault) {
    arm->registered_ = std::make_unique<RegisteredExperts>(files, bench.device, bench.budget);
    arm->registered_->Register(files.ids());
  }
  arm->source_ = std::make_unique<ExpertSource>(arm->reader_, arm->registered_.get(), nullptr);
  ASSIGN_OR_RETURN(arm->filler_,
                   CacheFiller::Create(FillerOptions(options.way, options.num_readers),
                                       bench.device, *arm->source_, *arm->stages_));
  ASSIGN_OR_RETURN(arm->checker_, SlotChecker::Create(bench.device, *arm->source_, *arm->stages_,
                                                      options.num_readers));
  return arm;
}

std::string FillerArm::Describe() const {
  return absl::StrCat(stages_->num_stages(), " stages, ", stages_->memory().Describe(),
                      registered_ == nullptr
                          ? ""
                          : absl::StrCat("; ", FormatByteSize(registered_->registered_bytes()),
                                         " of the file registered"));
}

}  // namespace strata::stagebench
