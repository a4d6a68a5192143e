#include "strata/cache/tier/expert_tier.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/mover_thread.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {
namespace {

// Experts of one job of a fill that is waited for: enough to keep the link busy, few enough to show
// progress.
constexpr int kWaitedForChunk = 512;

absl::StatusOr<std::unique_ptr<ExpertTable>> MakeTable(const ExpertTier::Options& options,
                                                       int num_experts, Device& device) {
  if (options.patches_by_step) {
    return ExpertTable::CreateForSteps(num_experts, device, *CHECK_NOTNULL(options.table_stream));
  }
  if (options.table_stream == nullptr) return std::make_unique<ExpertTable>(num_experts);
  return ExpertTable::CreateWithImage(num_experts, device, *options.table_stream,
                                      *CHECK_NOTNULL(options.table_patches));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExpertTier>> ExpertTier::Create(const Options& options,
                                                               const ExpertGeometry& geometry,
                                                               const SlotPlan& plan,
                                                               const Collaborators& collaborators) {
  ASSIGN_OR_RETURN(std::unique_ptr<ExpertTable> table,
                   MakeTable(options, geometry.size(), collaborators.device));
  if (options.policy.max_swaps > table->max_changes() && plan.num_slots() > 0 &&
      table->image() != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(options.policy.max_swaps,
                                                   " swaps a round do not fit patch buffers for ",
                                                   table->max_changes(), " changes"));
  }
  auto slots = SlotCache::Create(plan, geometry.size(), collaborators.device, options.free_bytes);
  std::unique_ptr<LandingPolicy> landing_policy;
  if (options.offered_share > 0) {
    landing_policy = MakeLandingPolicy(options.landing_rule, geometry, options.hottest_first,
                                       options.uses_per_step);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Residency> residency,
                   Residency::Create(options.aliases, geometry, collaborators.source, *slots,
                                     *table, landing_policy.get()));
  // Rather than a patch of everything for the first step.
  if (options.patches_by_step) RETURN_IF_ERROR(table->WriteImage());
  std::unique_ptr<CacheFiller> filler;
  std::unique_ptr<SlotChecker> checker;
  if (slots->num_slots() > 0) {
    StagePool& stages = *CHECK_NOTNULL(collaborators.stages);
    ASSIGN_OR_RETURN(filler, CacheFiller::Create(options.filler, collaborators.device,
                                                 collaborators.source, stages));
    ASSIGN_OR_RETURN(checker, SlotChecker::Create(collaborators.device, collaborators.source,
                                                  stages, options.filler.num_readers));
  }
  return std::unique_ptr<ExpertTier>(new ExpertTier(
      options, geometry, std::move(slots), std::move(table), std::move(landing_policy),
      std::move(residency), collaborators, std::move(filler), std::move(checker)));
}

ExpertTier::ExpertTier(const Options& options, const ExpertGeometry& geometry,
                       std::unique_ptr<SlotCache> slots, std::unique_ptr<ExpertTable> table,
                       std::unique_ptr<LandingPolicy> landing_policy,
                       std::unique_ptr<Residency> residency, const Collaborators& collaborators,
                       std::unique_ptr<CacheFiller> filler, std::unique_ptr<SlotChecker> checker)
    : options_(options),
      geometry_(geometry),
      device_(collaborators.device),
      slots_(std::move(slots)),
      table_(std::move(table)),
      landing_policy_(std::move(landing_policy)),
      residency_(std::move(residency)),
      tenants_(*residency_, collaborators.arena),
      uses_(device_),
      policy_(geometry, options.policy, options.hottest_first),
      ledger_(geometry.size(), options.policy.max_swaps, policy_.horizon_rounds()),
      event_counter_(geometry, counters_),
      saving_listener_(ledger_),
      routing_(geometry, *table_, options.miss_path, counters_),
      allowance_(device_.properties().is_gpu ? 1 : options.swap_share),
      step_uses_(geometry.size()),
      filler_(std::move(filler)),
      checker_(std::move(checker)) {
  if (!options.expected_uses.empty()) policy_.Seed(options.expected_uses);
  journal_.AddListener(event_counter_);
  journal_.AddListener(saving_listener_);
  if (options.observer != nullptr) journal_.AddListener(*options.observer);
  if (filler_ == nullptr) return;
  mover_ = std::make_unique<MoverThread>(*filler_, *checker_, collaborators.arena);
  round_ = std::make_unique<SwapRound>(
      SwapRound::Collaborators{*residency_, *mover_, tenants_, journal_}, options.policy.max_swaps);
  fill_ = std::make_unique<FillQueue>(
      FillQueue::Collaborators{*residency_, *mover_, tenants_, journal_},
      std::min(table_->max_changes(), std::max(kWaitedForChunk, options.fill_chunk)));
  lender_ =
      std::make_unique<SlotLender>(SlotLender::Collaborators{*residency_, uses_, *fill_, journal_});
  if (options.offered_share == 0) return;
  landings_ = std::make_unique<SlotLandings>(
      SlotLandings::Collaborators{*residency_, *mover_, tenants_, *landing_policy_, journal_},
      SlotLandings::PoolsOf(geometry, collaborators.source.files(), slots_->plan(),
                            options.offered_share),
      options.verify_landings);
}

ExpertTier::~ExpertTier() = default;

void ExpertTier::StartFill(SlotVerify verify) {
  CHECK(!in_step_) << "a fill starts between steps";
  if (fill_ != nullptr) fill_->Fill(slots_->plan().experts(), verify);
}

absl::StatusOr<FillReport> ExpertTier::Fill(const FillOptions& options) {
  if (fill_ == nullptr) return FillReport();
  const StepGap gap = GapBefore(step_ + 1, ExpertTable::Wait::kForBuffers);
  RETURN_IF_ERROR(FinishCopies(gap));
  CHECK(!lender_->out()) << "a fill while slots are lent";
  StartFill(options.verify);
  fill_->Resume();
  while (!fill_->done()) {
    fill_->StartNext(kWaitedForChunk, gap);
    WaitForMover();
    RETURN_IF_ERROR(fill_->Advance(gap));
    if (options.progress) options.progress(fill_->progress());
  }
  tenants_.GiveBack(gap.in_use);
  RETURN_IF_ERROR(fill_->report().status);
  return fill_->report();
}

void ExpertTier::BeginStep() {
  CHECK(!in_step_) << "the step before has not ended";
  in_step_ = true;
  ++step_;
  if (round_ == nullptr) {
    table_->BeginPatch();
    return;
  }
  const Stopwatch stopwatch;
  const StepGap gap = GapBefore(step_, ExpertTable::Wait::kNever);
  const bool round_ends = step_ > 0 && step_ % options_.policy.adapt_every == 0;
  // Swaps that show now are judged by the uses of the rounds to come.
  if (round_ends) ledger_.EndRound();
  EndUses(gap);
  LogOnce(round_->Advance(gap));
  LogOnce(fill_->Advance(gap));
  ChargeForMover();
  tenants_.GiveBack(gap.in_use);
  lender_->Advance();
  const bool lends = lender_->has_memory();
  if (round_ends) EndRound(lends, gap);
  if (!lends && round_->idle()) fill_->StartNext(options_.fill_chunk, gap);
  if (MayOffer()) landings_->Offer(gap);
  table_->BeginPatch();
  uses_are_open_ = true;
  counters_.swap_round_ns += stopwatch.ns();
}

void ExpertTier::EndUses(const StepGap& gap) {
  if (!std::exchange(uses_are_open_, false)) return;
  if (landings_ != nullptr) {
    landings_->EndStep();
    const absl::Span<const ExpertPolicy::Admission> admissions =
        landing_policy_->EndStep({.uses = step_uses_.Sorted(),
                                  .candidates = landings_->landed(),
                                  .num_empty = landings_->NumEmpty()});
    landings_->Show(admissions, gap);
  }
  step_uses_.Clear();
}

bool ExpertTier::MayOffer() const {
  // A fill has plans for empty slots, and what a loan has left behind may still write there.
  return lands_now() && fill_->done() && round_->idle() && !lender_->has_memory();
}

absl::Span<const LandingOffer> ExpertTier::offers() const {
  return landings_ == nullptr ? absl::Span<const LandingOffer>() : landings_->offers();
}

absl::Span<const LandingGroup> ExpertTier::groups() const {
  return landings_ == nullptr ? absl::Span<const LandingGroup>() : landings_->groups();
}

absl::Status ExpertTier::AddLandings(absl::Span<const Landing> landings) {
  if (landings_ != nullptr) return landings_->AddLandings(step_, landings);
  if (landings.empty()) return absl::OkStatus();
  return absl::InternalError("a step says that something has landed, and nothing was offered");
}

void ExpertTier::SetLanding(bool on) {
  CHECK(!in_step_) << "admission changes between steps";
  if (landings_ == nullptr) return;
  EndUses(GapBefore(step_ + 1, ExpertTable::Wait::kNever));
  landings_->SetOn(on);
}

void ExpertTier::EndRound(bool lends, const StepGap& gap) {
  if (options_.policy.max_swaps == 0 || lands_now()) return;
  if (rates_.has_value()) {
    ++counters_.rounds;
    const bool fill_waits_or_is_done = fill_->done() || (fill_->paused() && !fill_->under_way());
    if (!lends && !mover_->busy() && round_->idle() && fill_waits_or_is_done &&
        allowance_.allows(clock_.ns())) {
      const Stopwatch stopwatch;
      DecideSwaps(gap);
      allowance_.Charge(stopwatch.ns(), clock_.ns());
    } else {
      ++counters_.rounds_skipped;
    }
  }
  policy_.EndRound();
}

void ExpertTier::ChargeForMover() {
  const int64_t mover_ns = round_->mover_ns();
  if (mover_ns == charged_ns_) return;
  allowance_.Charge(mover_ns - charged_ns_, clock_.ns());
  charged_ns_ = mover_ns;
}

void ExpertTier::DecideSwaps(const StepGap& gap) {
  if (std::exchange(reported_rates_, rates_) != rates_) {
    journal_.OnRates(gap.next_step, *rates_);
  }
  round_->Start(policy_.Decide(*rates_, residency_->places(), slots_->num_empty()), *rates_, gap);
  LogOnce(round_->Advance(gap));
}

void ExpertTier::CountUses(ExpertId expert, int uses, bool accepted) {
  const int number = geometry_.NumberOf(expert);
  routing_.Count(number, step_, uses);
  step_uses_.Count(number, uses, accepted);
  if (!accepted) return;
  policy_.CountUses(number, uses);
  ledger_.CountUses(number, uses);
}

void ExpertTier::EndStep(DeviceEvent event) {
  CHECK(in_step_) << "no step has begun";
  in_step_ = false;
  uses_.AddStep(std::move(event));
}

absl::StatusOr<SlotLoan> ExpertTier::Lend(int64_t bytes) {
  if (lender_ == nullptr) {
    if (bytes == 0) return SlotLoan();
    return absl::ResourceExhaustedError(
        absl::StrCat("a loan of ", bytes, " bytes from an expert cache without slots"));
  }
  ASSIGN_OR_RETURN(const int num_slots, lender_->SlotsFor(bytes));
  return LendSlots(num_slots);
}

absl::StatusOr<SlotLoan> ExpertTier::LendSlots(int num_slots) {
  CHECK(!in_step_) << "slots are lent between steps";
  if (lender_ == nullptr) return SlotLoan();
  if (lender_->out()) return absl::FailedPreconditionError("slots are lent already");
  const StepGap gap = GapBefore(step_ + 1, ExpertTable::Wait::kForBuffers);
  const Stopwatch stopwatch;
  const int64_t waits_before = mover_->num_waits();
  const absl::Status finished = FinishCopies(gap);
  if (const int64_t waits = mover_->num_waits() - waits_before; waits > 0) {
    counters_.lend_waits += waits;
    counters_.lend_wait_ns += stopwatch.ns();
  }
  RETURN_IF_ERROR(finished);
  return lender_->Lend(num_slots, gap);
}

void ExpertTier::FirstTokenOut() {
  if (lender_ != nullptr) lender_->FirstTokenOut(policy_);
}

absl::Status ExpertTier::FinishCopies(const StepGap& gap) {
  EndUses(gap);
  if (landings_ != nullptr) landings_->FinishChecks();
  WaitForMover();
  round_->DropUnstarted(gap);
  RETURN_IF_ERROR(round_->Advance(gap));
  RETURN_IF_ERROR(fill_->Advance(gap));
  tenants_.GiveBack(gap.in_use);
  if (!round_->idle() || fill_->under_way()) {
    return absl::UnavailableError("copies into expert slots cannot be ended now");
  }
  return absl::OkStatus();
}

void ExpertTier::WaitForMover() {
  const int64_t before = mover_->num_waits();
  mover_->Wait();
  waits_between_steps_ += mover_->num_waits() - before;
}

void ExpertTier::LogOnce(const absl::Status& status) {
  if (status.ok() || std::exchange(said_error_, true)) return;
  LOG(WARNING) << "the expert table could not be changed, will be later: " << status.message();
}

std::vector<int> ExpertTier::residents() const {
  std::vector<int> experts;
  for (int slot = 0; slot < slots_->num_slots(); ++slot) {
    const bool is_resident = slots_->state(slot) == SlotState::kResident;
    experts.push_back(is_resident ? slots_->expert(slot) : SlotCache::kNone);
  }
  return experts;
}

TierCounters ExpertTier::counters() const {
  TierCounters counters = counters_;
  const SavingLedger::Totals& savings = ledger_.totals();
  counters.predicted_saving_ns = savings.predicted_ns;
  counters.settled_predicted_ns = savings.settled_predicted_ns;
  counters.realized_saving_ns = savings.realized_ns;
  if (mover_ != nullptr) counters.waits_for_swaps = mover_->num_waits() - waits_between_steps_;
  if (landings_ != nullptr) {
    counters.landing_waits = landings_->num_waits();
    counters.waits_for_swaps -= counters.landing_waits;
    counters.landings_verified = landings_->num_verified();
  }
  return counters;
}

}  // namespace strata
