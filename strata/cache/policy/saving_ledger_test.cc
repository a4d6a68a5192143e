#include "strata/cache/policy/saving_ledger.h"

#include "gtest/gtest.h"
#include "strata/cache/policy/swap_policy.h"

namespace strata {
namespace {

// A miss of 100 bytes costs 10 ns, their copy 50.
constexpr SwapRates kRates = {.copy_bytes_per_ns = 2, .miss_ns_per_byte = 0.1};

SwapPolicy::Swap SwapOf(int newcomer, int victim, double predicted) {
  return {.newcomer = newcomer, .victim = victim, .bytes = 100, .predicted_saving_ns = predicted};
}

class SavingLedgerTest : public ::testing::Test {
 protected:
  void Use(int number, int times) {
    for (int i = 0; i < times; ++i) ledger_.CountUses(number, 1);
  }
  void PassRounds(int rounds) {
    for (int i = 0; i < rounds; ++i) ledger_.EndRound();
  }

  SavingLedger ledger_{8, 2, 10};
};

TEST_F(SavingLedgerTest, ComparesUsesOfNewcomerAndVictimOverTheHorizon) {
  Use(1, 1000);  // Before it shows.
  ledger_.Open(SwapOf(1, 2, 700), kRates);
  Use(1, 20);
  PassRounds(9);
  Use(2, 5);
  EXPECT_EQ(ledger_.totals().num_settled, 0);
  EXPECT_EQ(ledger_.totals().predicted_ns, 700);
  PassRounds(1);
  EXPECT_EQ(ledger_.totals().num_settled, 1);
  EXPECT_EQ(ledger_.totals().settled_predicted_ns, 700);
  EXPECT_DOUBLE_EQ(ledger_.totals().realized_ns, (20 - 5) * 10 - 50);
  Use(1, 1000);
  PassRounds(20);
  EXPECT_EQ(ledger_.totals().num_settled, 1);
}

TEST_F(SavingLedgerTest, SettlesEarlyWhenTheNewcomerLeavesOrTheVictimComesBack) {
  ledger_.Open(SwapOf(1, 2, 1), kRates);
  ledger_.Open(SwapOf(3, 4, 2), kRates);
  Use(1, 6);
  Use(3, 7);
  ledger_.SettleFor(1);
  Use(1, 100);
  ledger_.SettleFor(4);
  Use(3, 100);
  PassRounds(30);
  EXPECT_EQ(ledger_.totals().num_settled, 2);
  EXPECT_DOUBLE_EQ(ledger_.totals().realized_ns, 6 * 10 - 50 + 7 * 10 - 50);
}

TEST_F(SavingLedgerTest, CountsASwapIntoAnEmptySlotWithoutAVictim) {
  ledger_.Open(SwapOf(1, -1, 0), kRates);
  Use(1, 8);
  PassRounds(10);
  EXPECT_DOUBLE_EQ(ledger_.totals().realized_ns, 8 * 10 - 50);
}

TEST_F(SavingLedgerTest, HoldsAllSwapsOfEveryRoundOfAHorizon) {
  for (int round = 0; round < 100; ++round) {
    ledger_.Open(SwapOf(round % 4, 4 + round % 4, 1), kRates);
    ledger_.Open(SwapOf(4 + (round + 1) % 4, (round + 1) % 4, 1), kRates);
    ledger_.EndRound();
  }
  EXPECT_EQ(ledger_.totals().predicted_ns, 200);
  PassRounds(10);
  EXPECT_EQ(ledger_.totals().num_settled, 200);
}

}  // namespace
}  // namespace strata
