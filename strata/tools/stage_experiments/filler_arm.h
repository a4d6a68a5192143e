// One way of moving blobs into slots, with all that it needs: sources, stages, threads and streams.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_FILLER_ARM_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_FILLER_ARM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/host_memory.h"
#include "strata/tools/stage_experiments/bench.h"

namespace strata::stagebench {

class FillerArm {
 public:
  enum class Way {
    kReference,  // Pageable stages, one thread that reads and then copies, waiting for each copy.
    kStages,     // Stages (pinned unless told otherwise), several readers, two streams.
    kDefault,    // From where the bytes are pinned already; through stages what is not.
  };

  struct Options {
    Way way = Way::kDefault;
    int num_readers = 8;
    BlobReader::Path path = BlobReader::Path::kByResidency;
  };

  // `files` outlives the arm. The default way registers as many experts as the budget allows.
  static absl::StatusOr<std::unique_ptr<FillerArm>> Create(const Options& options,
                                                           const Bench& bench,
                                                           const ExpertFiles& files);

  absl::string_view name() const { return name_; }
  CacheFiller& filler() { return *filler_; }
  // Reads the slots back and compares every byte with the file.
  absl::Status Check(absl::Span<const FillItem> slots) { return checker_->Check(slots); }
  // What the stages are, and how much is registered.
  std::string Describe() const;

 private:
  FillerArm(const Options& options, const Bench& bench, const ExpertFiles& files);

  const std::string name_;
  HostMemory memory_;
  BlobReader reader_;
  std::unique_ptr<RegisteredExperts> registered_;
  std::unique_ptr<ExpertSource> source_;
  std::unique_ptr<StagePool> stages_;
  std::unique_ptr<CacheFiller> filler_;
  std::unique_ptr<SlotChecker> checker_;
};

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_FILLER_ARM_H_
