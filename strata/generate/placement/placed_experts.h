// A model's experts under an expert tier: where they lie in host memory, which of them have slots,
// and how that follows the text, put together from what a command line asks for.
//
// The slots are memory of the device that it is given, for the CPU's engine a HostDevice. Hits and
// misses cost the same there, so the policy's rates are those of a link as fast as the copies into
// the slots: what is placed where is decided as on a GPU, and no bit of the output depends on it.
//
// Used by the engine's thread. File and device outlive it.
#ifndef STRATA_GENERATE_PLACEMENT_PLACED_EXPERTS_H_
#define STRATA_GENERATE_PLACEMENT_PLACED_EXPERTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/tier_trace.h"

namespace strata {

class PlacedExperts : public ExpertWeights {
 public:
  // kAuto: in the background while the first tokens are computed, where slots would not fill
  // themselves (with a profile, or without adaptation).
  enum class Prefill { kAuto, kOn, kOff };

  struct Options {
    std::optional<SlotBudget> cache = {};  // Empty: as many as pay. On the CPU that is none.
    std::string profile;                   // A path; empty: none.
    Prefill prefill = Prefill::kAuto;
    SlotVerify verify = SlotVerify::kSample;
    int lend = 0;  // Slots that each prompt borrows.
    SwapPolicy::Options swaps;
    HostPlacement::Options host;
    std::string dump_routing;  // A path; empty: no trace.
  };

  // Null for a model without experts, of which neither a profile nor a trace is asked (no_experts).
  // Other errors: a profile of another model (profile_mismatch), a file
  // that cannot be read or written, too little memory, a slot that differs from the file.
  static absl::StatusOr<std::unique_ptr<PlacedExperts>> Create(const Options& options,
                                                               const GgufFile& file,
                                                               const ModelGraph& graph,
                                                               Device& device);
  ~PlacedExperts() override;

  // --- For the engine ---
  absl::Status ForEachPart(int layer, absl::Span<const int> chosen, Use use) override;
  void BeginStep() override { tier_->BeginStep(); }
  void EndStep(const absl::Status& outcome, absl::Span<const StepRow> rows,
               const StepRouting& routing) override;
  absl::Span<std::byte> BeginPrompt() override;
  void EndPrompt() override;
  void FirstTokenOut() override { tier_->FirstTokenOut(); }

  // Once, at the end of a run: the trace gets its name.
  absl::Status FinishTrace();

  // --- What there is, and what came of it ---
  TierCounters counters() const { return tier_->counters(); }
  FillReport fill_report() const { return tier_->fill_report(); }
  const SlotPlan& slots() const { return tier_->slots().plan(); }
  int64_t pinned_bytes() const { return host_->pinned_bytes(); }
  double pin_ms() const { return host_->pin_ms(); }

 private:
  PlacedExperts(const Options& options, const GgufFile& file, const ExpertLayout& layout,
                Device& device);
  absl::Status Place(const ModelIdentity& identity);
  absl::Status StartTrace(const ModelIdentity& identity, const SlotPlan& plan,
                          const SwapPolicy::Options& swaps);
  absl::Status Fill();
  // Says once that the first slot was read back and is right.
  void TellOfFill();
  bool FillsAtStart() const;
  void CountRouting(const StepRouting& routing, bool accepted);

  // Leases a stage for each of the experts while there are any, at least one; returns how many.
  absl::StatusOr<size_t> StageSome(int layer, absl::Span<const int> experts);

  const Options options_;
  const ExpertGeometry geometry_;
  const ExpertFiles files_;
  Device& device_;
  std::vector<int> ranking_;          // Of a profile; empty without.
  std::vector<float> expected_uses_;  // The same.
  std::unique_ptr<HostPlacement> host_;
  std::unique_ptr<TierTrace> trace_;  // Before the tier, which tells it what happens.
  std::unique_ptr<ExpertTier> tier_;
  bool said_slot0_ = false;
  bool in_prompt_ = false;
  std::optional<SlotLoan> loan_;

  // Of one ForEachPart; kept for their memory.
  std::vector<Location> in_place_;
  std::vector<int> to_stage_;
  std::vector<Location> staged_;
  std::vector<StagePool::Stage> stages_;
  std::vector<int> indices_;  // Of one CountRouting.
};

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_PLACED_EXPERTS_H_
