// A model's experts under an expert tier: where they lie in host memory, which of them have slots,
// and how that follows the text, put together from what a command line asks for.
//
// The slots are memory of the device that it is given, for the CPU's engine a HostDevice. Hits and
// misses cost the same there, so the policy's rates are those of a link as fast as the copies into
// the slots: what is placed where is decided as on a GPU, and no bit of the output depends on it.
//
// Used by the engine's thread. File, device and stream outlive it.
#ifndef STRATA_GENERATE_PLACEMENT_EXPERT_PLACEMENT_H_
#define STRATA_GENERATE_PLACEMENT_EXPERT_PLACEMENT_H_

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
#include "strata/cache/pack/pack.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/simulate/cache_gauge.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/layer_stream.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/tier_trace.h"

namespace strata {

class ExpertPlacement {
 public:
  // kAuto: in the background while the first tokens are computed, where slots would not fill
  // themselves (with a profile, or without adaptation).
  enum class Prefill { kAuto, kOn, kOff };

  // Who computes, of steps of one row, an expert that kernels find in no slot.
  enum class Misses {
    kRead,   // They themselves, over the link.
    kCpu,    // The CPU, where it lies. Then experts come into slots by copies: nothing lands.
    kStage,  // They themselves, when it has been copied to them. The same.
    kAuto,   // kRead or kCpu, whichever is faster while the model runs; what lands is read.
  };

  struct Options {
    // Empty: as many as pay, on a GPU what its memory holds, on the CPU none.
    std::optional<SlotBudget> cache = {};
    std::string profile;  // A path; empty: none.
    // A folder; empty: none. Experts are read from its experts.bin in place of the model's slices.
    std::string pack;
    Prefill prefill = Prefill::kAuto;
    SlotVerify verify = SlotVerify::kSample;
    int lend = 0;  // Slots that each prompt borrows.
    // With kernels: buffers for a LayerStream are taken before the slots, unless all experts have
    // slots.
    bool streams_layers = false;
    SwapPolicy::Options swaps;
    // Of kernels: the first of each step writes patch() into the table's image; see ExpertTier.
    bool patches_by_step = false;
    // With patches by step, the share of the slots that is offered for misses to land in: see
    // LandingPools. 0, or swaps.max_swaps of 0: none.
    double offered_share = 0;
    LandingRule landing_rule = LandingRule::kAdaptive;  // What lands is decided by it.
    Misses misses = Misses::kRead;
    HostPlacement::Options host;
    std::string dump_routing;  // A path; empty: no trace.
  };

  // Null for a model without experts, of which neither a profile nor a trace is asked (no_experts).
  // Other errors: a profile of another model (profile_mismatch), a file that cannot be read or
  // written, too little memory, a slot that differs from the file. With `kernels`, a stream of the
  // device, kernels on it find the experts in table_image().
  static absl::StatusOr<std::unique_ptr<ExpertPlacement>> Create(
      const Options& options, const GgufFile& file, const ModelGraph& graph, Device& device,
      const DeviceStream* kernels = nullptr);
  ~ExpertPlacement();

  // --- For an engine: around each step ---

  void BeginStep() { tier_->BeginStep(); }
  // From BeginStep to the next. By number: see ExpertGeometry.
  const ExpertEntry& Entry(int number) const { return tier_->Entry(number); }
  // ExpertEntry by number in device memory, as the step that was begun may read it; null without
  // kernels.
  const std::byte* table_image() const { return tier_->table().image(); }
  // With patches by step: see ExpertTier.
  absl::Span<const TablePatch> patch() const { return tier_->patch(); }
  // Who served the misses of the step whose result AddResult is given next; those that landed were
  // read. With kernels kRead to begin with, else kCpu.
  void SetMissPath(MissPath path, absl::Span<const Landing> landed);
  void PatchLost() { tier_->PatchLost(); }
  absl::Span<const LandingOffer> offers() const { return tier_->offers(); }
  absl::Span<const LandingGroup> landing_groups() const { return tier_->groups(); }
  int first_layer() const { return tier_->first_layer(); }
  bool lands() const { return tier_->lands(); }
  // Experts that have no slot now and lie in no pinned memory: kernels cannot read them.
  int num_unreadable() const { return tier_->table().num_staged(); }
  // Whether there ever can be such.
  bool may_be_unreadable() const { return may_be_unreadable_; }
  // Where an expert's parts are that kernels cannot read, for the CPU.
  BlobParts PartsInHostMemory(int number) const;
  // Writes the whole image of the table in place of patch(), which is empty then.
  absl::Status RecoverTable() { return tier_->RecoverTable(); }
  absl::Status AddLandings(absl::Span<const Landing> landings) {
    return tier_->AddLandings(landings);
  }
  // `work` has ended when the step's work has; empty when that is so already.
  void EndStep(const DeviceEvent& work) { tier_->EndStep(work); }
  // Once the step's result is known, before the next BeginStep.
  void AddResult(const absl::Status& outcome, absl::Span<const StepRow> rows,
                 const StepRouting& routing);

  // Around the steps of a prompt, and after its first token was drawn. Memory that BeginPrompt
  // gives, perhaps none, is device memory to work in until EndPrompt.
  absl::Span<std::byte> BeginPrompt();
  void EndPrompt();
  void FirstTokenOut() { tier_->FirstTokenOut(); }

  // For steps that want most experts: see LayerStream. Null without.
  LayerStream* layer_stream() { return layer_stream_.get(); }
  const ExpertTable& table() const { return tier_->table(); }

  const ExpertGeometry& geometry() const { return geometry_; }
  HostPlacement& host() { return *host_; }
  // Null when experts are read from the model's own files.
  const Pack* pack() const { return pack_.get(); }
  // Of the files that experts are read from: see FileMapping.
  absl::Status CheckUnchanged() const { return files_.CheckUnchanged(); }

  // Once, at the end of a run: the trace gets its name.
  absl::Status FinishTrace();

  // --- What there is, and what came of it ---
  TierCounters counters() const { return tier_->counters(); }
  FillReport fill_report() const { return tier_->fill_report(); }
  const SlotPlan& slots() const { return tier_->slots().plan(); }
  // Over the last kGaugeSteps steps, with kGaugeMoreBytes more of slots. Nothing where there are
  // none, or one for every expert. Takes milliseconds: for reports.
  std::optional<CacheGauge::Reading> ReadGauge() const;
  static constexpr int64_t kGaugeMoreBytes = int64_t{1} << 30;
  bool has_arena() const { return host_->arena() != nullptr; }
  int64_t pinned_bytes() const { return host_->pinned_bytes(); }
  double pin_ms() const { return host_->pin_ms(); }

 private:
  // `pack` may be null.
  ExpertPlacement(const Options& options, const GgufFile& file, const ExpertLayout& layout,
                  std::unique_ptr<Pack> pack, Device& device);
  absl::Status Place(const ModelIdentity& identity, const DeviceStream* kernels);
  bool NobodyUsesStages(const SlotPlan& plan) const;
  void TellOfPlacement(uint64_t profile_tokens) const;
  // With kernels.
  void TellOfUnreadable() const;
  // Slots take what a GPU's memory holds.
  bool TakesFreeMemory() const {
    return !options_.cache.has_value() && device_.properties().is_gpu;
  }
  absl::StatusOr<SlotBudget> Budget();
  absl::Status MakeLayerStream();
  // What could not be pinned of a layer and will have no slot comes by that stream: makes it anew where its
  // buffers are too small for that.
  absl::Status EnlargeLayerStream(absl::Span<const ExpertId> resident);
  absl::Status MakePatches();
  TraceHeader TraceHeaderOf(const ModelIdentity& identity, const SlotPlan& plan,
                            const SwapPolicy::Options& swaps) const;
  void AddLanding(const LandingPools& pools, double offered_share, TierSettings& tier) const;
  // Whether every expert is in a slot or in memory that kernels read.
  bool KernelsReadAll() const;
  absl::Status Fill();
  // Says once that the first slot was read back and is right.
  void TellOfFill();
  bool FillsAtStart() const;
  void CountRouting(const StepRouting& routing, bool accepted);
  MissPath PathOf(int number) const;
  // Of a layer, by ascending index, to step_uses_.
  void CollectUses(int layer, absl::Span<const uint16_t> chosen, bool accepted);

  const Options options_;
  const ExpertGeometry geometry_;
  const std::unique_ptr<Pack> pack_;
  const ExpertFiles files_;
  Device& device_;
  std::vector<int> ranking_;          // Of a profile; empty without.
  std::vector<float> expected_uses_;  // The same.
  std::vector<float> uses_per_step_;  // The same.
  std::unique_ptr<HostPlacement> host_;
  static constexpr int64_t kPatchBytes = 4096;  // 128 entries.
  static constexpr int kNumPatches = 16;
  static constexpr int64_t kPatchPoolBytes = kNumPatches * kPatchBytes;

  // With kernels: where changes to the table's image come from.
  struct Patches {
    explicit Patches(Device& device) : memory(device, budget) {}
    PinBudget budget{kPatchPoolBytes, "the table's patches"};
    HostMemory memory;
    std::unique_ptr<StagePool> pool;
  };
  std::unique_ptr<Patches> patches_;
  std::unique_ptr<LayerStream> layer_stream_;
  std::unique_ptr<TierTrace> trace_;  // Before the tier, which tells it what happens.
  std::unique_ptr<ExpertTier> tier_;
  // Before slots are filled. Otherwise the first step waits for them.
  bool kernels_read_all_ = true;
  bool may_be_unreadable_ = false;
  bool said_slot0_ = false;
  bool in_prompt_ = false;
  std::optional<SlotLoan> loan_;
  MissPath miss_path_ = MissPath::kCpu;
  std::vector<int> landed_;  // Numbers, of the step whose result is taken.
  // Of the step whose result is taken, and of a layer by index; kept for their memory.
  std::vector<ExpertUse> step_uses_;
  std::vector<int> uses_;
  static constexpr int kGaugeSteps = 512;
  std::optional<CacheGauge> gauge_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_EXPERT_PLACEMENT_H_
