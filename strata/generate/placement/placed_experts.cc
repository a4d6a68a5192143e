#include "strata/generate/placement/placed_experts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/cli/progress.h"
#include "strata/core/error.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Until copies were measured: what a PCIe 4 link of 16 lanes carries.
constexpr double kNominalBytesPerNs = 25;

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

// Null; but who named a file for experts is told that it is of no use.
absl::StatusOr<std::unique_ptr<PlacedExperts>> NothingToPlace(const PlacedExperts::Options& options,
                                                              const GgufFile& file) {
  if (options.profile.empty() && options.dump_routing.empty()) return nullptr;
  return InputError("no_experts", file.path(),
                    "the model has no experts: there is no profile to use and no routing to write");
}

std::vector<ExpertId> IdsOf(const ExpertGeometry& geometry, absl::Span<const int> numbers) {
  std::vector<ExpertId> ids;
  for (const int number : numbers) ids.push_back(geometry.IdOf(number));
  return ids;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlacedExperts>> PlacedExperts::Create(const Options& options,
                                                                     const GgufFile& file,
                                                                     const ModelGraph& graph) {
  ASSIGN_OR_RETURN(const ModelConfig config, ModelConfig::Create(file));
  ASSIGN_OR_RETURN(const ExpertLayout layout, ExpertLayout::Create(file, config));
  if (layout.empty()) return NothingToPlace(options, file);
  ASSIGN_OR_RETURN(const ModelIdentity identity, ModelIdentity::Of(file, layout));
  auto experts = absl::WrapUnique(new PlacedExperts(options, file, layout));
  RETURN_IF_ERROR(experts->Place(identity));
  experts->FindMatrices(graph);
  RETURN_IF_ERROR(experts->Fill());
  return experts;
}

PlacedExperts::PlacedExperts(const Options& options, const GgufFile& file,
                             const ExpertLayout& layout)
    : options_(options), geometry_(layout), files_(file, layout) {}

PlacedExperts::~PlacedExperts() = default;

absl::Status PlacedExperts::Place(const ModelIdentity& identity) {
  if (!options_.profile.empty()) {
    ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfileOf(identity, options_.profile));
    ranking_ = profile.Rank();
    expected_uses_ = ExpectedUses(profile, options_.swaps);
  }
  const SlotPlan plan(geometry_, options_.cache.value_or(SlotBudget::Slots(0)), ranking_);
  HostPlacement::Options host = options_.host;
  // A round cannot bring more experts than there are slots, whatever the command line allows it.
  SwapPolicy::Options swaps = options_.swaps;
  swaps.max_swaps = std::min(swaps.max_swaps, plan.num_slots());
  host.num_spare_places = swaps.max_swaps;
  const std::vector<ExpertId> hottest_first =
      IdsOf(geometry_, SlotPlan::CompleteRanking(geometry_, ranking_));
  const bool fills = FillsAtStart();
  ASSIGN_OR_RETURN(host_, HostPlacement::Create(
                              host, files_, device_, hottest_first,
                              fills ? IdsOf(geometry_, plan.experts()) : std::vector<ExpertId>()));
  if (!options_.dump_routing.empty()) RETURN_IF_ERROR(StartTrace(identity, plan, swaps));
  const AliasRule rule = host_->stages_unpinned() ? AliasRule::kPinnedOnly : AliasRule::kAnyMemory;
  ASSIGN_OR_RETURN(tier_, ExpertTier::Create({.policy = swaps,
                                              .aliases = rule,
                                              .hottest_first = ranking_,
                                              .expected_uses = expected_uses_,
                                              .observer = trace_.get()},
                                             geometry_, plan,
                                             {.device = device_,
                                              .source = host_->source(),
                                              .arena = host_->arena(),
                                              .stages = &host_->stages()}));
  tier_->SetRates(RatesOfLink(kNominalBytesPerNs));
  LOG(INFO) << slots().Describe() << " for " << geometry_.Describe() << "; " << host_->Describe();
  return absl::OkStatus();
}

absl::Status PlacedExperts::StartTrace(const ModelIdentity& identity, const SlotPlan& plan,
                                       const SwapPolicy::Options& swaps) {
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
  ASSIGN_OR_RETURN(trace_, TierTrace::Create(options_.dump_routing, header));
  return absl::OkStatus();
}

bool PlacedExperts::FillsAtStart() const {
  switch (options_.prefill) {
    case Prefill::kOn:
      return true;
    case Prefill::kOff:
      return false;
    case Prefill::kAuto:
      // Without a profile the policy knows better than a guess what belongs into an empty slot.
      return !ranking_.empty() || options_.swaps.max_swaps == 0;
  }
  return false;
}

absl::Status PlacedExperts::Fill() {
  if (slots().num_slots() == 0 || !FillsAtStart()) return absl::OkStatus();
  ExpertTier::FillOptions fill = {.verify = options_.verify};
  if (options_.prefill == Prefill::kAuto) {
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
  return absl::OkStatus();
}

void PlacedExperts::TellOfFill() {
  if (said_slot0_ || !tier_->fill_report().slot0_verified) return;
  LOG(INFO) << "slot 0 verified";
  said_slot0_ = true;
}

void PlacedExperts::FindMatrices(const ModelGraph& graph) {
  for (const ExpertGeometry::Layer& layer : geometry_.layers()) {
    const auto& experts = std::get<MixtureOfExperts>(graph.layers[layer.block].feed_forward);
    places_of_layer_.push_back({.gate = FindMatrix(layer.block, experts.gate.data[0]),
                                .up = FindMatrix(layer.block, experts.up.data[0]),
                                .down = FindMatrix(layer.block, experts.down.data[0])});
  }
}

PlacedExperts::MatrixPlace PlacedExperts::FindMatrix(int block, const std::byte* data) const {
  int part = 0;
  for (const ExpertSlice& slice : files_.Slices({.layer = block, .index = 0})) {
    const absl::Span<const std::byte> bytes = files_.Mapped(slice);
    if (bytes.data() <= data && data < bytes.data() + bytes.size()) {
      return {.part = part, .offset = data - bytes.data()};
    }
    ++part;
  }
  LOG(FATAL) << "a matrix of block " << block << " lies in no slice of its expert";
}

template <typename PartAddress>
ExpertWeights::Place PlacedExperts::PlaceOf(const LayerPlaces& places, int expert,
                                            PartAddress part_address) {
  const auto at = [&](const MatrixPlace& place) { return part_address(place.part) + place.offset; };
  return {.expert = expert, .gate = at(places.gate), .up = at(places.up), .down = at(places.down)};
}

absl::Status PlacedExperts::ForEachPart(int block, const MixtureOfExperts& /*experts*/,
                                        absl::Span<const int> chosen, Use use) {
  in_place_.clear();
  to_stage_.clear();
  const LayerPlaces& places = places_of_layer_[geometry_.FindLayer(block)];
  const int first_of_layer = geometry_.NumberOf({.layer = block, .index = 0});
  for (const int expert : chosen) {
    const ExpertEntry& entry = tier_->Entry(first_of_layer + expert);
    if (entry.form == EntryForm::kStage) {
      to_stage_.push_back(expert);
    } else {
      in_place_.push_back(PlaceOf(places, expert, [&](int part) { return entry.parts[part]; }));
    }
  }
  for (const int expert : to_stage_) {
    const ExpertId id = {.layer = block, .index = expert};
    host_->source().Prefetch({&id, 1});
  }
  if (!in_place_.empty()) RETURN_IF_ERROR(use(in_place_));
  const absl::Cleanup no_more_leases = [this] { stages_.clear(); };
  for (absl::Span<const int> left = to_stage_; !left.empty();) {
    ASSIGN_OR_RETURN(const size_t num_staged, StageSome(block, left));
    RETURN_IF_ERROR(use(staged_));
    left.remove_prefix(num_staged);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> PlacedExperts::StageSome(int block, absl::Span<const int> experts) {
  staged_.clear();
  stages_.clear();
  const LayerPlaces& places = places_of_layer_[geometry_.FindLayer(block)];
  for (const int expert : experts) {
    std::optional<StagePool::Stage> stage = host_->stages().TryAcquire();
    if (!stage.has_value()) {
      // Fills and swaps hold the others.
      if (!staged_.empty()) break;
      ASSIGN_OR_RETURN(stage, host_->stages().Acquire());
    }
    ASSIGN_OR_RETURN(const HostBlob blob,
                     host_->source().ReadToStage({.layer = block, .index = expert}, *stage));
    staged_.push_back(
        PlaceOf(places, expert, [&](int part) { return blob.part_array[part].bytes.data(); }));
    stages_.push_back(*std::move(stage));
  }
  return staged_.size();
}

void PlacedExperts::EndStep(const absl::Status& outcome) {
  tier_->EndStep(DeviceEvent());
  TellOfFill();
  if (trace_ == nullptr) return;
  trace_->EndStep(outcome, in_prompt_ ? RoutedStep::Kind::kPrompt : RoutedStep::Kind::kDecode);
}

void PlacedExperts::CountRouting(int block, absl::Span<const ExpertChoice> chosen) {
  numbers_.clear();
  for (const ExpertChoice& choice : chosen) numbers_.push_back(choice.expert);
  tier_->CountRouting(block, numbers_, /*accepted=*/true);
}

absl::Span<std::byte> PlacedExperts::BeginPrompt() {
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

void PlacedExperts::EndPrompt() {
  in_prompt_ = false;
  loan_.reset();
}

absl::Status PlacedExperts::FinishTrace() {
  return trace_ == nullptr ? absl::OkStatus() : trace_->Finish();
}

}  // namespace strata
