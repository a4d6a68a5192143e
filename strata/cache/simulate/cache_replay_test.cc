// Each policy on a trace that can be followed by hand, and replays against simple loops.
#include "strata/cache/simulate/cache_replay.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/lru_curve.h"
#include "strata/cache/simulate/optimum.h"
#include "strata/cache/simulate/policies.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/cache/testing/test_log.h"

namespace strata {
namespace {

// A copy of a blob costs as much as its miss.
constexpr PolicySettings kSettings = {.decay = 0.9,
                                      .rounds = {.adapt_every = 4, .decay = 0.5, .margin = 0},
                                      .rates = {.copy_bytes_per_ns = 1, .miss_ns_per_byte = 1}};

std::unique_ptr<ExpertPolicy> Make(absl::string_view name, const ExpertGeometry& geometry,
                                   const PolicyStart& start = {}) {
  return MakePolicy(name, geometry, start, kSettings).value();
}

class HandWorkedTraceTest : public ::testing::Test {
 protected:
  // The steps, from 1, that hit.
  std::vector<int> HitsOf(absl::string_view name, const std::vector<int>& experts,
                          const std::vector<int>& residents,
                          AdmissionMode mode = AdmissionMode::kEveryMiss) {
    const std::unique_ptr<ExpertPolicy> policy = Make(name, geometry_);
    CacheReplay replay(geometry_, {.mode = mode}, {3}, residents, *policy);
    const RoutingLog log = LogOf(geometry_, experts);
    std::vector<int> hits;
    for (size_t step = 0; step < log.num_steps(); ++step) {
      const int64_t before = replay.counts().hits;
      replay.Step(log.uses(step), 1);
      if (replay.counts().hits > before) hits.push_back(static_cast<int>(step) + 1);
    }
    return hits;
  }

  const ExpertGeometry geometry_ = TestGeometry({100}, /*num_experts=*/5, /*num_used=*/1);
  const std::vector<int> trace_ = {0, 1, 2, 0, 3, 0, 1, 4, 0, 2, 0, 1};
};

using Hits = std::vector<int>;

TEST_F(HandWorkedTraceTest, StaticServesWhatItWasFilledWith) {
  EXPECT_EQ(HitsOf("static", trace_, {0, 1, 2}), Hits({1, 2, 3, 4, 6, 7, 9, 10, 11, 12}));
  EXPECT_EQ(HitsOf("static", trace_, {}), Hits());
}

TEST_F(HandWorkedTraceTest, LruPutsOutWhatWasUsedLongestAgo) {
  // 3 for 1, 1 for 2, 4 for 3, 2 for 1, 1 for 4.
  EXPECT_EQ(HitsOf("lru", trace_, {}), Hits({4, 6, 9, 11}));
}

TEST_F(HandWorkedTraceTest, LfuLetsInOnlyWhatWasUsedMore) {
  // Neither 3 nor 4 was used more than 2, the last of the ranking among those used once.
  EXPECT_EQ(HitsOf("lfu", trace_, {}), Hits({4, 6, 7, 9, 10, 11, 12}));
}

TEST_F(HandWorkedTraceTest, AdaptiveWeighsUsesByTheirAge) {
  // Counts at step 5: 0 1.56, 1 0.73, 2 0.81, 3 1: for 1. At 10: 0 2.7, 1 1.16, 4 0.81, 2 1.48.
  EXPECT_EQ(HitsOf("adaptive", trace_, {}), Hits({4, 6, 9, 11, 12}));
}

TEST_F(HandWorkedTraceTest, S3FifoPassesNewcomersThroughASmallQueue) {
  // 0 leaves at step 5 after one more use, comes back at 6 as a ghost and stays in the main queue,
  // as 1 does at 7 and 2 at 10.
  EXPECT_EQ(HitsOf("s3fifo", trace_, {}), Hits({4, 9, 11, 12}));
}

TEST_F(HandWorkedTraceTest, RoundsSwapByCopiesAfterEveryFourthStep) {
  // 3 is decided after step 4 in the place of 2, is on its way during 5 and shows at 6.
  EXPECT_EQ(
      HitsOf("rounds", {3, 3, 3, 0, 0, 3, 1, 3, 3, 0, 2, 3}, {0, 1, 2}, AdmissionMode::kCopies),
      Hits({4, 5, 6, 7, 8, 9, 10, 12}));
}

TEST_F(HandWorkedTraceTest, BeladyKeepsWhatIsUsedAgainSoonest) {
  // 3 and 4 never again; with two slots 2 is not worth one either.
  const RoutingLog log = LogOf(geometry_, trace_);
  EXPECT_EQ(Optimum(log, {3}, {}).hits, 7);
  EXPECT_EQ(Optimum(log, {2}, {}).hits, 6);
  EXPECT_EQ(Optimum(log, {3}, {0, 1, 2}).hits, 10);
  EXPECT_EQ(Optimum(log, {0}, {}).hits, 0);
}

TEST_F(HandWorkedTraceTest, LearnedKeepsWhatIsLikelyToFollow) {
  // Its scores worked out apart, in double precision with the C library's logarithm.
  EXPECT_EQ(HitsOf("learned", trace_, {}), Hits({4, 6, 9, 11, 12}));
}

TEST_F(HandWorkedTraceTest, LearnedLeavesOutWhatIsColderThanAllResidents) {
  std::vector<int> trace;
  for (int i = 0; i < 30; ++i) trace.push_back(i % 3);
  trace.insert(trace.end(), {3, 0, 1, 2});
  EXPECT_EQ(HitsOf("learned", trace, {0, 1, 2}).size(), 33u) << "all but 3";
}

TEST(CacheReplayTest, LandsOnlyInOfferedSlotsAndBeginsWithAnotherLayerEachStep) {
  // Two layers of three experts, four slots of which one is offered: two misses a step, one lands.
  const ExpertGeometry geometry = TestGeometry({10, 10}, 3, 1);
  const std::unique_ptr<ExpertPolicy> policy = Make("lru", geometry);
  CacheReplay replay(geometry, {.mode = AdmissionMode::kLanding, .offered_share = 0.25}, {4},
                     {0, 1, 3, 4}, *policy);
  const std::vector<ExpertUse> both = {{2, 1, 1}, {5, 1, 1}};
  replay.Step(both, 1);
  EXPECT_EQ(replay.counts().hits, 0);
  EXPECT_EQ(replay.counts().admissions, 1) << "expert 2, of the first layer";
  replay.Step(both, 1);
  EXPECT_EQ(replay.counts().hits, 1);
  EXPECT_EQ(replay.counts().admissions, 2);
  replay.Step(both, 1);
  EXPECT_EQ(replay.counts().hits, 3);
  EXPECT_EQ(replay.counts().copies, 0);
  const std::vector<ExpertUse> coldest = {{4, 1, 1}};
  replay.Step(coldest, 1);
  EXPECT_EQ(replay.counts().hits, 3) << "three of the four slots hold residents";
}

TEST(CacheReplayTest, CountsEntriesByTokenAndBytesByStep) {
  const ExpertGeometry geometry = TestGeometry({10}, 4, 2);
  const std::unique_ptr<ExpertPolicy> policy = Make("static", geometry);
  CacheReplay replay(geometry, {}, {2}, {0, 1}, *policy);
  replay.Step(std::vector<ExpertUse>{{0, 2, 3}, {2, 1, 1}}, 2);
  EXPECT_EQ(replay.counts(), (ReplayCounts{.steps = 1,
                                           .tokens = 2,
                                           .routed = 4,
                                           .hits = 3,
                                           .uses = 2,
                                           .missed_uses = 1,
                                           .slot_bytes = 9,
                                           .link_bytes = 9}));
}

// --- Properties on random traces ---

struct RandomCase {
  explicit RandomCase(std::mt19937& random)
      : geometry(random() % 2 == 0 ? TestGeometry({10, 10}, 8, 2)
                                   : TestGeometry({10, 20, 10}, 6, 2)),
        log(RandomLog(geometry, 120, random() % 2 == 0 ? 1 : 3, random)),
        plan(geometry, SlotBudget::Slots(1 + random() % geometry.size()), {}),
        slots(SlotsOfClass(plan)) {
    if (random() % 2 == 0) residents.assign(plan.experts().begin(), plan.experts().end());
  }

  ExpertGeometry geometry;
  RoutingLog log;
  SlotPlan plan;
  std::vector<int> slots;
  std::vector<int> residents;
};

TEST(ReplayPropertyTest, NoPolicyBeatsTheOptimum) {
  std::mt19937 random(1);
  int64_t excess = 0;
  for (int repetition = 0; repetition < 300; ++repetition) {
    const RandomCase tried(random);
    const ReplayCounts optimum = Optimum(tried.log, tried.slots, tried.residents);
    EXPECT_LE(OptimumBound(tried.log, tried.plan.bytes(), tried.residents), optimum.missed_uses);
    for (const absl::string_view name : PolicyNames()) {
      for (const AdmissionMode mode :
           {AdmissionMode::kEveryMiss, AdmissionMode::kLanding, AdmissionMode::kCopies}) {
        if (name == "rounds" && mode != AdmissionMode::kCopies) continue;
        const std::unique_ptr<ExpertPolicy> policy = Make(name, tried.geometry);
        CacheReplay replay(tried.geometry, {.mode = mode, .copy_steps = repetition % 3},
                           tried.slots, tried.residents, *policy);
        replay.Run(tried.log);
        const ReplayCounts& counts = replay.counts();
        EXPECT_LE(optimum.missed_uses, counts.transfers()) << name << " " << repetition;
        EXPECT_EQ(counts.routed, optimum.routed);
        EXPECT_EQ(counts.slot_bytes + counts.link_bytes, optimum.slot_bytes + optimum.link_bytes);
        excess += counts.transfers() - optimum.missed_uses;
      }
    }
  }
  EXPECT_GT(excess, 0);
}

// The least misses over all that a cache could have held: every subset of what it had and read.
int64_t LeastMisses(const RoutingLog& log, int num_slots) {
  const unsigned num_sets = 1u << log.geometry().size();
  constexpr int64_t kImpossible = 1 << 30;
  std::vector<int64_t> least(num_sets, kImpossible);
  least[0] = 0;
  for (size_t step = 0; step < log.num_steps(); ++step) {
    unsigned used = 0;
    for (const ExpertUse& use : log.uses(step)) used |= 1u << use.number;
    std::vector<int64_t> after(num_sets, kImpossible);
    for (unsigned held = 0; held < num_sets; ++held) {
      if (least[held] == kImpossible) continue;
      const int64_t misses = least[held] + __builtin_popcount(used & ~held);
      for (unsigned kept = held | used;; kept = (kept - 1) & (held | used)) {
        if (__builtin_popcount(kept) <= num_slots) after[kept] = std::min(after[kept], misses);
        if (kept == 0) break;
      }
    }
    least = after;
  }
  return *std::min_element(least.begin(), least.end());
}

TEST(ReplayPropertyTest, TheOptimumIsTheLeastOfAllThatCouldHaveBeenDone) {
  std::mt19937 random(2);
  const ExpertGeometry geometry = TestGeometry({10}, 7, 2);
  for (int repetition = 0; repetition < 40; ++repetition) {
    const RoutingLog log = RandomLog(geometry, 14, 2, random);
    for (int num_slots = 1; num_slots <= 5; ++num_slots) {
      EXPECT_EQ(Optimum(log, {num_slots}, {}).missed_uses, LeastMisses(log, num_slots));
    }
  }
}

TEST(ReplayPropertyTest, OnePassGivesLruOfEverySize) {
  std::mt19937 random(3);
  for (int repetition = 0; repetition < 20; ++repetition) {
    const RandomCase any(random);
    std::vector<int> ranking = SlotPlan::DefaultRanking(any.geometry);
    std::shuffle(ranking.begin(), ranking.end(), random);
    for (const bool filled : {false, true}) {
      const LruCurve curve(any.log, ranking, filled);
      for (int num_slots = 0; num_slots <= any.geometry.size(); ++num_slots) {
        const SlotPlan plan(any.geometry, SlotBudget::Slots(num_slots), ranking);
        const std::unique_ptr<ExpertPolicy> policy =
            Make("lru", any.geometry, {.hottest_first = ranking});
        CacheReplay replay(any.geometry, {}, SlotsOfClass(plan),
                           filled ? plan.experts() : absl::Span<const int>(), *policy);
        replay.Run(any.log);
        ReplayCounts counts = replay.counts();
        counts.admissions = 0;
        EXPECT_EQ(curve.Counts(SlotsOfClass(plan)), counts) << num_slots;
      }
    }
  }
}

}  // namespace
}  // namespace strata
