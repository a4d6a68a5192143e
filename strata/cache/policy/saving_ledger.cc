#include "strata/cache/policy/saving_ledger.h"

#include <algorithm>
#include <cstdint>

#include "glog/logging.h"
#include "strata/cache/policy/swap_policy.h"

namespace strata {

// Swaps show at most once a round, and those of `horizon_rounds` rounds are open at once.
SavingLedger::SavingLedger(int num_experts, int max_swaps, int64_t horizon_rounds)
    : horizon_rounds_(horizon_rounds),
      uses_(num_experts, 0),
      record_of_(num_experts, -1),
      ring_(std::max<int64_t>(1, max_swaps) * (horizon_rounds + 1)) {}

void SavingLedger::Open(const SwapPolicy::Swap& swap, const SwapRates& rates) {
  SettleFor(swap.newcomer);
  if (swap.victim >= 0) SettleFor(swap.victim);
  const int index = static_cast<int>(num_opened_ % ring_.size());
  CHECK(!ring_[index].open) << "more swaps than rounds allow";
  ++num_opened_;
  ring_[index] = {.swap = swap,
                  .miss_ns = rates.MissNs(swap.bytes),
                  .copy_ns = rates.CopyNs(swap.bytes),
                  .newcomer_uses = uses_[swap.newcomer],
                  .victim_uses = swap.victim < 0 ? 0 : uses_[swap.victim],
                  .due_round = round_ + horizon_rounds_,
                  .open = true};
  record_of_[swap.newcomer] = index;
  if (swap.victim >= 0) record_of_[swap.victim] = index;
  totals_.predicted_ns += swap.predicted_saving_ns;
}

void SavingLedger::SettleFor(int number) {
  if (record_of_[number] >= 0) Settle(record_of_[number]);
}

void SavingLedger::EndRound() {
  ++round_;
  for (; num_passed_ < num_opened_; ++num_passed_) {
    const int index = static_cast<int>(num_passed_ % ring_.size());
    if (ring_[index].open && ring_[index].due_round > round_) return;
    if (ring_[index].open) Settle(index);
  }
}

void SavingLedger::Settle(int index) {
  Record& record = ring_[index];
  const int newcomer = record.swap.newcomer, victim = record.swap.victim;
  int64_t uses = uses_[newcomer] - record.newcomer_uses;
  record_of_[newcomer] = -1;
  if (victim >= 0) {
    uses -= uses_[victim] - record.victim_uses;
    record_of_[victim] = -1;
  }
  record.open = false;
  totals_.settled_predicted_ns += record.swap.predicted_saving_ns;
  totals_.realized_ns += static_cast<double>(uses) * record.miss_ns - record.copy_ns;
  ++totals_.num_settled;
}

}  // namespace strata
