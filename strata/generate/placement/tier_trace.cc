#include "strata/generate/placement/tier_trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/status_macros.h"

namespace strata {

absl::StatusOr<std::unique_ptr<TierTrace>> TierTrace::Create(const std::string& path,
                                                             const TraceHeader& header) {
  ASSIGN_OR_RETURN(std::unique_ptr<RoutingTraceWriter> writer,
                   RoutingTraceWriter::Create(path, header));
  return absl::WrapUnique(new TierTrace(header, std::move(writer)));
}

TierTrace::TierTrace(const TraceHeader& header, std::unique_ptr<RoutingTraceWriter> writer)
    : writer_(std::move(writer)), recorder_(header.identity.geometry, {.trace = writer_.get()}) {}

// The tier names the first step that is touched by what happens, the trace the last one before a
// decision.
void TierTrace::OnRates(int64_t step, const SwapRates& rates) {
  writer_->AddRates({.step = step - 1,
                     .copy_bytes_per_ns = rates.copy_bytes_per_ns,
                     .miss_fixed_ns = rates.miss_fixed_ns,
                     .miss_ns_per_byte = rates.miss_ns_per_byte});
}

void TierTrace::OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) {
  writer_->AddSwap({.step = step - 1,
                    .newcomer = swap.newcomer,
                    .victim = swap.victim,
                    .predicted_saving_ns = swap.predicted_saving_ns});
}

void TierTrace::OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap,
                              const SwapRates& /*rates*/, int slot) {
  AddResidency(step, swap.newcomer, slot, /*resident=*/true, Cause::kSwap);
}

void TierTrace::OnLeft(int64_t step, int expert, int slot, LeftFor why) {
  constexpr Cause kCauses[] = {Cause::kSwap, Cause::kLend, Cause::kLanding};
  AddResidency(step, expert, slot, /*resident=*/false, kCauses[static_cast<int>(why)]);
}

void TierTrace::OnCameBack(int64_t step, int expert, int slot, CameBy how) {
  constexpr Cause kCauses[] = {Cause::kFill, Cause::kRefill, Cause::kLanding};
  AddResidency(step, expert, slot, /*resident=*/true, kCauses[static_cast<int>(how)]);
}

void TierTrace::OnOffered(int64_t step, int num_slots) {
  EndLandings();
  landings_.step = step;
  landings_.num_offered = num_slots;
}

void TierTrace::OnLanded(int64_t /*step*/, int expert, int slot) {
  landings_.landed.push_back({.expert = expert, .slot = slot});
}

void TierTrace::EndLandings() {
  if (landings_.num_offered > 0) writer_->AddLandings(landings_);
  landings_.num_offered = 0;
  landings_.landed.clear();
}

absl::Status TierTrace::Finish() {
  EndLandings();
  return writer_->Finish();
}

void TierTrace::AddResidency(int64_t step, int expert, int slot, bool resident, Cause cause) {
  EndLandings();
  writer_->AddResidency(
      {.step = step, .expert = expert, .slot = slot, .resident = resident, .cause = cause});
}

}  // namespace strata
