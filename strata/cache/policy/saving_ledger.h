// What swaps were said to save, and what they did save.
//
// A swap that shows is written down with the use counts of its newcomer and its victim. It is
// settled after the policy's horizon, or earlier when its newcomer leaves the slots or its victim
// comes back into them. What it realized is then
//   (uses of the newcomer since - uses of the victim since) * cost of a miss - cost of the copy
// with the rates of its decision: each use of the newcomer was a hit instead of a miss, each of the
// victim a miss instead of a hit.
//
// Used by one thread. Nothing is allocated after the constructor. Times in nanoseconds.
#ifndef STRATA_CACHE_POLICY_SAVING_LEDGER_H_
#define STRATA_CACHE_POLICY_SAVING_LEDGER_H_

#include <cstdint>
#include <vector>

#include "strata/cache/policy/swap_policy.h"

namespace strata {

class SavingLedger {
 public:
  struct Totals {
    double predicted_ns = 0;          // Of all swaps.
    double settled_predicted_ns = 0;  // Of those that are settled, to compare with
    double realized_ns = 0;           // this.
    int64_t num_settled = 0;
  };

  SavingLedger(int num_experts, int max_swaps, int64_t horizon_rounds);

  // Uses by accepted tokens.
  void CountUses(int number, int uses) { uses_[number] += uses; }
  // The swap shows from now on.
  void Open(const SwapPolicy::Swap& swap, const SwapRates& rates);
  // The expert left the slots, or came into them: swaps that this ends are settled.
  void SettleFor(int number);
  // A round has ended.
  void EndRound();

  const Totals& totals() const { return totals_; }

 private:
  struct Record {
    SwapPolicy::Swap swap;
    double miss_ns = 0;
    double copy_ns = 0;
    int64_t newcomer_uses = 0;
    int64_t victim_uses = 0;
    int64_t due_round = 0;
    bool open = false;
  };

  void Settle(int record);

  const int64_t horizon_rounds_;
  std::vector<int64_t> uses_;   // By number.
  std::vector<int> record_of_;  // By number: the open record that it is part of; -1.
  std::vector<Record> ring_;
  int64_t num_opened_ = 0;
  int64_t num_passed_ = 0;  // Records before it are settled.
  int64_t round_ = 0;
  Totals totals_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_SAVING_LEDGER_H_
