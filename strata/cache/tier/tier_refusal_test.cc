// A machine that has no more threads ends nothing: a tier that stands has all it needs, and one
// that cannot be made says so.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/testing/tier_machine.h"
#include "strata/core/error.h"
#include "strata/core/host_device.h"
#include "strata/core/refusal.h"

namespace strata {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Address space for the stacks of so many more threads.
void LimitThreads(int num_threads) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 8 * kMiB);
  pthread_setattr_default_np(&attributes);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most =
      static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (8 * num_threads + 6) * kMiB);
  const rlimit limit = {.rlim_cur = most, .rlim_max = most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(100);
}

class TierRefusalTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take address space of their own";
#endif
  }
};

// Threads do not survive a fork: each of these makes its machine in the process that is to end.
[[noreturn]] void FillWithoutAnyMoreThread() {
  TierMachine machine({});
  LimitThreads(0);
  for (const SlotVerify verify : {SlotVerify::kAll, SlotVerify::kSample}) {
    const absl::Status filled = machine.tier->Fill({.verify = verify}).status();
    if (!filled.ok()) std::_Exit(static_cast<int>(ExitCodeOf(filled)));
    machine.tier->LendSlots(8).value();
  }
  machine.tier->FirstTokenOut();
  machine.StepUntil({8}, [&] { return machine.ServesFromSlots({8}); });
  std::_Exit(machine.NumWrongSlots() == 0 ? 0 : 101);
}

TEST_F(TierRefusalTest, ATierThatStandsFillsChecksAndSwapsWithoutAnyMoreThread) {
  EXPECT_EXIT(FillWithoutAnyMoreThread(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void MakeATierWithFewThreads(int num_threads) {
  TierMachine machine({});
  LimitThreads(num_threads);
  const absl::Status made = CatchRefusal([&] {
    return ExpertTier::Create({}, machine.geometry, machine.plan,
                              {.device = machine.device,
                               .source = *machine.source,
                               .stages = machine.stages.get()})
        .status();
  });
  std::_Exit(static_cast<int>(ExitCodeOf(made)));
}

TEST_F(TierRefusalTest, ATierThatGetsTooFewThreadsIsTheMachinesError) {
  // Streams of the filler, its readers, streams of the checker, its readers.
  for (const int num_threads : {0, 1, 3, 7, 12, 20}) {
    EXPECT_EXIT(MakeATierWithFewThreads(num_threads),
                ::testing::ExitedWithCode(static_cast<int>(ExitCode::kMachine)), "")
        << num_threads;
  }
}

TEST(TierStreamRefusalTest, AStreamThatIsRefusedIsTheStatusOfTheTier) {
  for (int n = 1; n < 8; ++n) {
    TierMachine machine({});
    machine.device.faults().FailNth(HostDeviceFaults::Call::kCreateStream, n);
    const absl::Status made =
        ExpertTier::Create(
            {.filler = {.num_readers = 5}}, machine.geometry, machine.plan,
            {.device = machine.device, .source = *machine.source, .stages = machine.stages.get()})
            .status();
    EXPECT_FALSE(made.ok()) << n;
    machine.device.ClearError();
  }
}

TEST(TierOptionsRefusalTest, PatchBuffersMayBeTooFewForTheSwapsOfARound) {
  TierMachine machine({});
  const auto few =
      std::move(StagePool::Create({.stage_bytes = 32, .num_stages = 4}, machine.memory)).value();
  ExpertTier::Options options = {
      .policy = {.max_swaps = 3}, .table_stream = &machine.stream, .table_patches = few.get()};
  const absl::Status refused =
      ExpertTier::Create(
          options, machine.geometry, machine.plan,
          {.device = machine.device, .source = *machine.source, .stages = machine.stages.get()})
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
}

}  // namespace
}  // namespace strata
