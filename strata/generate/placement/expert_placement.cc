#include "strata/generate/placement/expert_placement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/slot_landings.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/progress.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/placement/placement_notes.h"

namespace strata {
namespace {

// Until copies were measured: what a PCIe 4 link of 16 lanes carries.
constexpr double kNominalBytesPerNs = 25;

// Of a GPU's memory, left to others when slots take what there is.
constexpr int64_t kFreeMarginBytes = int64_t{1} << 30;

// A miss moves the bytes of its blob over the link that swaps use as well.
SwapRates RatesOfLink(double bytes_per_ns) {
  return {.copy_bytes_per_ns = bytes_per_ns, .miss_ns_per_byte = 1 / bytes_per_ns};
}

// A text's next token stands for as many steps as the policy looks ahead.
std::vector<float> ExpectedUses(const ExpertProfile& profile, const SwapPolicy::Options& options) {
  std::vector<float> uses;
  if (profile.num_tokens() == 0) return uses;
  const double steps = options.adapt_every / (1 - options.decay);
  for (const uint64_t count : profile.counts()) {
    uses.push_back(static_cast<float>(static_cast<double>(count) * steps /
                                      static_cast<double>(profile.num_tokens())));
  }
  return uses;
}

std::vector<float> UsesPerStep(const ExpertProfile& profile) {
  std::vector<float> uses;
  const auto tokens = static_cast<double>(std::max<uint64_t>(1, profile.num_tokens()));
  for (const uint64_t count : profile.counts()) {
    uses.push_back(static_cast<float>(static_cast<double>(count) / tokens));
  }
  return uses;
}

// Null; but who named a file for experts is told that it is of no use.
absl::StatusOr<std::unique_ptr<ExpertPlacement>> NothingToPlace(
    const ExpertPlacement::Options& options, const GgufFile& file) {
  if (options.profile.empty() && options.dump_routing.empty() && options.pack.empty()) {
    return nullptr;
  }
  return InputError("no_experts", file.path(),
                    "the model has no experts: there is no profile or pack to use and no routing "
                    "to write");
}

std::vector<ExpertId> IdsOf(const ExpertGeometry& geometry, absl::Span<const int> numbers) {
  std::vector<ExpertId> ids;
  for (const int number : numbers) ids.push_back(geometry.IdOf(number));
  return ids;
}

// Those of the plan that a fill brings: the coldest leave what is offered to land in.
std::vector<int> Filled(const ExpertGeometry& geometry, const SlotPlan& plan,
                        const LandingPools& pools) {
  std::vector<int> num_free(plan.class_bytes().size(), 0);
  for (size_t i = 0; i < num_free.size(); ++i) {
    num_free[i] = -pools.NumOfferedBySize(static_cast<int>(i));
  }
  for (int slot = 0; slot < plan.num_slots(); ++slot) ++num_free[plan.ClassOfSlot(slot)];
  std::vector<int> filled;
  for (const int expert : plan.experts()) {
    if (num_free[SizeClassOf(plan.class_bytes(), geometry.BlobBytes(expert))]-- > 0) {
      filled.push_back(expert);
    }
  }
  return filled;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExpertPlacement>> ExpertPlacement::Create(
    const Options& options, const GgufFile& file, const ModelGraph& graph, Device& device,
    const DeviceStream* kernels) {
  const ExpertLayout& layout = graph.experts;
  if (layout.empty()) return NothingToPlace(options, file);
  ASSIGN_OR_RETURN(const ModelIdentity identity, ModelIdentity::Of(file, layout));
  std::unique_ptr<Pack> pack;
  if (!options.pack.empty()) {
    ASSIGN_OR_RETURN(pack, Pack::OpenFor(options.pack, file, layout, identity));
  }
  auto experts =
      absl::WrapUnique(new ExpertPlacement(options, file, layout, std::move(pack), device));
  RETURN_IF_ERROR(experts->Place(identity, kernels));
  RETURN_IF_ERROR(experts->Fill());
  return experts;
}

ExpertPlacement::ExpertPlacement(const Options& options, const GgufFile& file,
                                 const ExpertLayout& layout, std::unique_ptr<Pack> pack,
                                 Device& device)
    : options_(options),
      geometry_(layout),
      pack_(std::move(pack)),
      files_(pack_ == nullptr ? ExpertFiles(file, layout) : pack_->Experts(layout)),
      device_(device) {}

ExpertPlacement::~ExpertPlacement() = default;

absl::Status ExpertPlacement::Place(const ModelIdentity& identity, const DeviceStream* kernels) {
  uint64_t profile_tokens = 0;
  if (!options_.profile.empty()) {
    ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfileOf(identity, options_.profile));
    profile_tokens = profile.num_tokens();
    ranking_ = profile.Rank();
    expected_uses_ = ExpectedUses(profile, options_.swaps);
    uses_per_step_ = UsesPerStep(profile);
  }
  if (kernels != nullptr && options_.streams_layers) RETURN_IF_ERROR(MakeLayerStream());
  ASSIGN_OR_RETURN(const SlotBudget budget, Budget());
  const SlotPlan plan(geometry_, budget, ranking_);
  HostPlacement::Options host = options_.host;
  // A round cannot bring more experts than there are slots, whatever the command line allows it.
  SwapPolicy::Options swaps = options_.swaps;
  swaps.max_swaps = std::min(swaps.max_swaps, plan.num_slots());
  host.num_spare_places = swaps.max_swaps;
  if (NobodyUsesStages(plan)) host.pinned_stages = false;
  const std::vector<ExpertId> hottest_first =
      IdsOf(geometry_, SlotPlan::CompleteRanking(geometry_, ranking_));
  const bool by_step = kernels != nullptr && options_.patches_by_step;
  const bool may_land = by_step &&
                        (options_.misses == Misses::kRead || options_.misses == Misses::kAuto) &&
                        swaps.max_swaps > 0 && plan.num_slots() < geometry_.size();
  const double offered_share = may_land ? options_.offered_share : 0;
  const LandingPools pools = SlotLandings::PoolsOf(geometry_, files_, plan, offered_share);
  std::vector<ExpertId> resident;
  if (FillsAtStart()) resident = IdsOf(geometry_, Filled(geometry_, plan, pools));
  ASSIGN_OR_RETURN(host_, HostPlacement::Create(host, files_, device_, hottest_first, resident));
  if (kernels != nullptr && options_.streams_layers) RETURN_IF_ERROR(EnlargeLayerStream(resident));
  if (!options_.dump_routing.empty()) {
    TraceHeader header = TraceHeaderOf(identity, plan, swaps);
    AddLanding(pools, offered_share, header.tier);
    ASSIGN_OR_RETURN(trace_, TierTrace::Create(options_.dump_routing, header));
  }
  if (kernels != nullptr && !by_step) RETURN_IF_ERROR(MakePatches());
  miss_path_ = kernels == nullptr ? MissPath::kCpu : MissPath::kRead;
  const AliasRule rule = host_->stages_unpinned() ? AliasRule::kPinnedOnly : AliasRule::kAnyMemory;
  ASSIGN_OR_RETURN(
      tier_,
      ExpertTier::Create({.policy = swaps,
                          .aliases = rule,
                          .miss_path = miss_path_,
                          .free_bytes = TakesFreeMemory() ? kFreeMarginBytes : 0,
                          .hottest_first = ranking_,
                          .expected_uses = expected_uses_,
                          .table_stream = kernels,
                          .table_patches = patches_ == nullptr ? nullptr : patches_->pool.get(),
                          .patches_by_step = by_step,
                          .offered_share = offered_share,
                          .landing_rule = options_.landing_rule,
                          .verify_landings = options_.verify,
                          .uses_per_step = uses_per_step_,
                          .observer = trace_.get()},
                         geometry_, plan,
                         {.device = device_,
                          .source = host_->source(),
                          .arena = host_->arena(),
                          .stages = &host_->stages()}));
  tier_->SetRates(RatesOfLink(kNominalBytesPerNs));
  kernels_read_all_ = kernels == nullptr || KernelsReadAll();
  const bool decides = 0 < slots().num_slots() && slots().num_slots() < geometry_.size();
  if (decides) gauge_.emplace(geometry_, kGaugeSteps);
  TellOfPlacement(profile_tokens);
  if (kernels != nullptr) {
    for (const ExpertId id : files_.ids())
      may_be_unreadable_ |= !host_->source().Locate(id).pinned();
  }
  return absl::OkStatus();
}

// On a device that reads experts where they lie. Memory that is not pinned is not touched either.
bool ExpertPlacement::NobodyUsesStages(const SlotPlan& plan) const {
  const HostPlacement::Choice choice = options_.host.choice;
  return !device_.properties().is_gpu && plan.num_slots() == 0 &&
         (choice == HostPlacement::Choice::kAuto || choice == HostPlacement::Choice::kPageable);
}

void ExpertPlacement::TellOfPlacement(uint64_t profile_tokens) const {
  const std::string in_slots =
      slots().num_slots() == 0
          ? ""
          : absl::StrCat(slots().num_slots(), " slots of ", FormatByteSize(slots().bytes()),
                         " together; in host memory ");
  Note(absl::StrCat("experts: ", in_slots, host_->Describe()));
  LOG(INFO) << slots().Describe() << " for " << geometry_.Describe();
  const PlacementOutcome outcome = {
      .cache = options_.cache,
      .profile = options_.profile,
      .lend = options_.lend,
      .limits_arena = options_.host.choice == HostPlacement::Choice::kArena &&
                      options_.host.max_arena_bytes != HostPlacement::Options().max_arena_bytes,
      .profile_tokens = profile_tokens,
      .num_slots = slots().num_slots(),
      .has_arena = has_arena()};
  for (const std::string& note : PlacementNotes(outcome, geometry_)) Note(note);
}

absl::StatusOr<SlotBudget> ExpertPlacement::Budget() {
  if (options_.cache.has_value()) return *options_.cache;
  if (!device_.properties().is_gpu) return SlotBudget::Slots(0);
  ASSIGN_OR_RETURN(const DeviceMemoryInfo memory, device_.GetMemoryInfo());
  return SlotBudget::Bytes(std::max<int64_t>(0, memory.free_bytes - kFreeMarginBytes));
}

absl::Status ExpertPlacement::MakeLayerStream() {
  ASSIGN_OR_RETURN(const SlotBudget budget, Budget());
  const int64_t slot_bytes = SlotPlan(geometry_, budget, ranking_).bytes();
  ASSIGN_OR_RETURN(const DeviceMemoryInfo memory, device_.GetMemoryInfo());
  const int64_t spare = std::max<int64_t>(0, memory.free_bytes - kFreeMarginBytes - slot_bytes);
  const int64_t buffer_bytes = LayerStream::BufferBytes(geometry_, slot_bytes, spare);
  if (buffer_bytes < files_.max_blob_bytes()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<LayerStream>> stream =
      LayerStream::Create(files_, geometry_, buffer_bytes, device_);
  if (stream.ok()) {
    layer_stream_ = *std::move(stream);
  } else {
    device_.ClearError();
    LOG(WARNING) << "prompts read experts without slots where they lie: " << stream.status();
  }
  return absl::OkStatus();
}

absl::Status ExpertPlacement::EnlargeLayerStream(absl::Span<const ExpertId> resident) {
  std::vector<bool> has_slot(static_cast<size_t>(geometry_.size()), false);
  for (const ExpertId id : resident) has_slot[static_cast<size_t>(geometry_.NumberOf(id))] = true;
  int64_t largest = 0;
  std::vector<ExpertId> unpinned;
  for (int number = 0; number < geometry_.size(); ++number) {
    if (number % geometry_.num_experts() == 0) unpinned.clear();
    const ExpertId id = geometry_.IdOf(number);
    if (has_slot[static_cast<size_t>(number)] || host_->source().Locate(id).pinned()) continue;
    unpinned.push_back(id);
    largest = std::max(largest, LayerStream::BytesOf(files_, unpinned));
  }
  if (largest == 0) return absl::OkStatus();
  if (layer_stream_ != nullptr && layer_stream_->buffer_bytes() >= largest) return absl::OkStatus();
  layer_stream_.reset();
  ASSIGN_OR_RETURN(layer_stream_, LayerStream::Create(files_, geometry_, largest, device_));
  return absl::OkStatus();
}

BlobParts ExpertPlacement::PartsInHostMemory(int number) const {
  const HostBlob blob = host_->source().Locate(geometry_.IdOf(number));
  BlobParts parts = {};
  for (int i = 0; i < blob.num_parts; ++i) {
    parts[static_cast<size_t>(i)] = blob.part_array[static_cast<size_t>(i)].bytes.data();
  }
  return parts;
}

// Once slots hold what they hold at first.
void ExpertPlacement::TellOfUnreadable() const {
  if (kernels_read_all_ || num_unreadable() == 0) return;
  int64_t bytes = 0;
  for (int number = 0; number < geometry_.size(); ++number) {
    if (Entry(number).form == EntryForm::kStage) bytes += geometry_.BlobBytes(number);
  }
  Note(
      absl::StrCat(num_unreadable(), " experts (", FormatByteSize(bytes),
                   ") have no slot and could not be pinned: prompts copy all of them each batch at "
                   "the speed of pageable memory, and the host serves what a token misses; a "
                   "larger --pin_budget or ulimit -l makes that faster"));
}

absl::Status ExpertPlacement::MakePatches() {
  patches_ = std::make_unique<Patches>(device_);
  ASSIGN_OR_RETURN(
      patches_->pool,
      StagePool::Create({.stage_bytes = kPatchBytes, .num_stages = kNumPatches, .min_stages = 1},
                        patches_->memory));
  return absl::OkStatus();
}

TraceHeader ExpertPlacement::TraceHeaderOf(const ModelIdentity& identity, const SlotPlan& plan,
                                           const SwapPolicy::Options& swaps) const {
  TraceHeader header = {.identity = identity};
  TierSettings& tier = header.tier;
  for (int slot = 0; slot < plan.num_slots(); ++slot) {
    tier.slots.push_back({.blob_bytes = plan.SlotBytes(slot)});
  }
  if (swaps.max_swaps > 0) tier.adapt_every = swaps.adapt_every;
  tier.max_swaps = swaps.max_swaps;
  tier.max_bytes = swaps.max_bytes;
  tier.decay = swaps.decay;
  tier.margin = swaps.margin;
  tier.ranking = SlotPlan::CompleteRanking(geometry_, ranking_);
  tier.seed_counts = expected_uses_;
  tier.notes["host_memory"] = host_->Describe();
  return header;
}

void ExpertPlacement::AddLanding(const LandingPools& pools, double offered_share,
                                 TierSettings& tier) const {
  if (offered_share == 0) return;
  tier.offered_share = offered_share;
  tier.landing_rule = options_.landing_rule;
  for (int layer = 0; layer < pools.num_layers(); ++layer) {
    tier.landing_classes.push_back(pools.ClassOfLayer(layer));
  }
  for (int i = 0; i < pools.num_classes(); ++i) tier.num_offered.push_back(pools.num_offered(i));
  tier.uses_per_step = uses_per_step_;
}

bool ExpertPlacement::FillsAtStart() const {
  switch (options_.prefill) {
    case Prefill::kOn:
      return true;
    case Prefill::kOff:
      return false;
    case Prefill::kAuto:
      // Without a profile the policy knows better than a guess what belongs into an empty slot; but
      // on a GPU an empty slot costs the link.
      return !ranking_.empty() || options_.swaps.max_swaps == 0 || device_.properties().is_gpu;
  }
  return false;
}

bool ExpertPlacement::KernelsReadAll() const {
  for (int number = 0; number < geometry_.size(); ++number) {
    const EntryForm form = tier_->Entry(number).form;
    if (form == EntryForm::kStage || form == EntryForm::kPageable) return false;
  }
  return true;
}

absl::Status ExpertPlacement::Fill() {
  if (slots().num_slots() == 0 || !FillsAtStart()) {
    TellOfUnreadable();
    return absl::OkStatus();
  }
  ExpertTier::FillOptions fill = {.verify = options_.verify};
  if (options_.prefill == Prefill::kAuto && kernels_read_all_) {
    tier_->StartFill(options_.verify);
    return absl::OkStatus();
  }
  Progress progress(
      {.label = "filling slots", .total = slots().bytes(), .unit = Progress::Unit::kBytes});
  int64_t bytes_shown = 0;
  fill.progress = [&](const FillProgress& now) {
    progress.Add(now.bytes_done - std::exchange(bytes_shown, now.bytes_done));
  };
  RETURN_IF_ERROR(tier_->Fill(fill).status());
  TellOfFill();
  TellOfUnreadable();
  return absl::OkStatus();
}

void ExpertPlacement::TellOfFill() {
  if (said_slot0_ || !tier_->fill_report().slot0_verified) return;
  LOG(INFO) << "slot 0 verified";
  said_slot0_ = true;
}

void ExpertPlacement::AddResult(const absl::Status& outcome, absl::Span<const StepRow> rows,
                                const StepRouting& routing) {
  CountRouting(routing, outcome.ok());
  TellOfFill();
  if (trace_ == nullptr || !outcome.ok()) return;
  trace_->AddStep(rows.front().position, routing,
                  in_prompt_ ? RoutedStep::Kind::kPrompt : RoutedStep::Kind::kDecode);
}

void ExpertPlacement::SetMissPath(MissPath path, absl::Span<const Landing> landed) {
  miss_path_ = path;
  landed_.clear();
  for (const Landing& landing : landed) landed_.push_back(landing.expert);
}

MissPath ExpertPlacement::PathOf(int number) const {
  const bool has_landed = std::find(landed_.begin(), landed_.end(), number) != landed_.end();
  return has_landed ? MissPath::kRead : miss_path_;
}

void ExpertPlacement::CountRouting(const StepRouting& routing, bool accepted) {
  step_uses_.clear();
  for (int layer = 0; layer < routing.num_layers(); ++layer) {
    CollectUses(layer, routing.ChosenOfLayer(layer), accepted);
  }
  int num_missed = 0;
  for (const ExpertUse& use : step_uses_) {
    tier_->SetMissPath(PathOf(use.number));
    tier_->CountUses(geometry_.IdOf(use.number), use.routed, accepted);
    num_missed += Entry(use.number).form != EntryForm::kSlot;
  }
  if (gauge_.has_value() && !step_uses_.empty()) gauge_->AddStep(step_uses_, num_missed);
}

void ExpertPlacement::CollectUses(int layer, absl::Span<const uint16_t> chosen, bool accepted) {
  uses_.assign(static_cast<size_t>(geometry_.num_experts()), 0);
  for (const uint16_t index : chosen) ++uses_[index];
  const size_t begin = step_uses_.size();
  for (const uint16_t index : chosen) {
    const int uses = std::exchange(uses_[index], 0);
    if (uses == 0) continue;  // It was collected before.
    step_uses_.push_back({.number = layer * geometry_.num_experts() + index,
                          .accepted = accepted ? uses : 0,
                          .routed = uses});
  }
  std::sort(step_uses_.begin() + static_cast<std::ptrdiff_t>(begin), step_uses_.end(),
            [](const ExpertUse& a, const ExpertUse& b) { return a.number < b.number; });
}

std::optional<CacheGauge::Reading> ExpertPlacement::ReadGauge() const {
  if (!gauge_.has_value()) return std::nullopt;
  std::vector<int> slots_of_class(slots().class_bytes().size(), 0);
  for (int slot = 0; slot < slots().num_slots(); ++slot) {
    ++slots_of_class[static_cast<size_t>(slots().ClassOfSlot(slot))];
  }
  return gauge_->Report(slots_of_class, kGaugeMoreBytes);
}

absl::Span<std::byte> ExpertPlacement::BeginPrompt() {
  in_prompt_ = true;
  if (options_.lend == 0 || slots().num_slots() == 0) return {};
  absl::StatusOr<SlotLoan> loan = tier_->LendSlots(options_.lend);
  if (!loan.ok()) {
    LOG(WARNING) << "no slots are lent to the prompt: " << loan.status().message();
    return {};
  }
  loan_ = *std::move(loan);
  return loan_->memory();
}

void ExpertPlacement::EndPrompt() {
  in_prompt_ = false;
  loan_.reset();
}

absl::Status ExpertPlacement::FinishTrace() {
  return trace_ == nullptr ? absl::OkStatus() : trace_->Finish();
}

}  // namespace strata
