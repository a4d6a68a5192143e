#include "strata/core/shared_work.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

TEST(SharedWorkTest, DoesEveryItemOnceInEveryRun) {
  SharedWork work(3);
  std::array<std::atomic<int>, 100> times = {};
  for (int run = 0; run < 20; ++run) {
    ASSERT_TRUE(work.Run(times.size(),
                         [&](int worker, int64_t item) {
                           EXPECT_LT(worker, 3);
                           ++times[item];
                           return absl::OkStatus();
                         })
                    .ok());
  }
  for (const std::atomic<int>& each : times) EXPECT_EQ(each, 20);
  EXPECT_TRUE(work.Run(0, [](int, int64_t) { return absl::DataLossError("none"); }).ok());
}

TEST(SharedWorkTest, EndsWithTheFailureOfAnItemAndBeginsNoOther) {
  SharedWork work(1);
  int num_begun = 0;
  const absl::Status failed = work.Run(10, [&](int, int64_t item) {
    ++num_begun;
    return item == 3 ? absl::DataLossError("the fourth") : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsDataLoss(failed)) << failed;
  EXPECT_EQ(num_begun, 4);
  EXPECT_TRUE(work.Run(1, [](int, int64_t) { return absl::OkStatus(); }).ok());
}

TEST(SharedWorkTest, MemoryThatIsNotToBeHadIsAFailureToo) {
  SharedWork work(2);
  const absl::Status refused =
      work.Run(1, [](int, int64_t) -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(ExitCodeOf(refused), ExitCode::kMachine) << refused;
}

}  // namespace
}  // namespace strata
