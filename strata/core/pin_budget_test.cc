#include "strata/core/pin_budget.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "strata/core/pin_limits.h"

namespace strata {
namespace {

TEST(PinBudgetTest, ReservesUpToItsLimitAndTakesBytesBack) {
  PinBudget budget(100, "a test");
  std::optional<PinBudget::Reservation> first = budget.TryReserve(60);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->bytes(), 60);
  EXPECT_FALSE(budget.TryReserve(41).has_value());
  EXPECT_TRUE(budget.TryReserve(40).has_value());  // Given back at once.
  EXPECT_EQ(budget.available_bytes(), 40);
  first.reset();
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(PinBudgetTest, AMovedReservationIsGivenBackOnce) {
  PinBudget budget(100, "a test");
  PinBudget::Reservation first = *budget.TryReserve(60);
  PinBudget::Reservation second = *budget.TryReserve(30);
  second = std::move(first);
  EXPECT_EQ(budget.reserved_bytes(), 60);
}

TEST(PinBudgetTest, ThreadsNeverReserveMoreThanTheLimitTogether) {
  PinBudget budget(10, "a test");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) {
        const std::optional<PinBudget::Reservation> bytes = budget.TryReserve(3);
        EXPECT_LE(budget.reserved_bytes(), 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

// A folder that stands for "/".
class PinLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
  }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::filesystem::path root_;
};

TEST_F(PinLimitsTest, ReadsAvailableMemory) {
  Write("/proc/meminfo", "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n");
  EXPECT_EQ(ReadPinLimits(root_).available_bytes, 1000 * 1024);
  EXPECT_EQ(ReadPinLimits(root_).cgroup_bytes, std::nullopt);
}

TEST_F(PinLimitsTest, TakesTheTightestOfTheGroupsAboveAProcessInCgroupV2) {
  Write("/proc/self/cgroup", "0::/user/job\n");
  Write("/sys/fs/cgroup/user/job/memory.max", "max\n");
  Write("/sys/fs/cgroup/user/memory.max", "5000\n");
  Write("/sys/fs/cgroup/user/memory.current", "3000\n");
  Write("/sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 700\nactive_file 300\n");
  EXPECT_EQ(ReadPinLimits(root_).cgroup_bytes, 3000);
}

TEST_F(PinLimitsTest, ReadsTheTopGroupWhereAContainerHidesItsOwnName) {
  Write("/proc/self/cgroup", "0::/docker/0123\n");
  Write("/sys/fs/cgroup/memory.max", "5000\n");
  Write("/sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(ReadPinLimits(root_).cgroup_bytes, 4000);
}

TEST_F(PinLimitsTest, ReadsTheMemoryControllerOfCgroupV1) {
  Write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "8000\n");
  Write("/sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 500\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(ReadPinLimits(root_).cgroup_bytes, 1500);
}

TEST_F(PinLimitsTest, ReadsWhatTheKernelHoldsAgainstTheLockLimit) {
  Write("/proc/self/status", "Name:\tx\nVmLck:\t       8 kB\nVmPin:\t       4 kB\n");
  EXPECT_EQ(ReadLockedBytes(root_), 12 * 1024);
}

TEST_F(PinLimitsTest, SeesALockedPageOfThisProcess) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int64_t before = ReadLockedBytes();
  // The call itself: sanitizers make mlock do nothing.
  if (syscall(SYS_mlock, page, 4096) != 0) GTEST_SKIP() << "this process may lock no memory";
  EXPECT_EQ(ReadLockedBytes(), before + 4096);
  munmap(page, 4096);
}

TEST_F(PinLimitsTest, ReadsALockLimitOfZero) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  EXPECT_EQ(ReadPinLimits().memlock_bytes, 0);
  EXPECT_EQ(ChooseDefaultPinBudget(ReadPinLimits(), /*pins_count_as_locked=*/true).bytes, 0);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

TEST(LockLimitTest, ALimitThatNoInt64HoldsIsNone) {
  EXPECT_EQ(LockLimit(8192), 8192);
  EXPECT_EQ(LockLimit(0), 0);
  for (const uint64_t bytes : {uint64_t{1} << 63, (uint64_t{1} << 63) + 4096, ~uint64_t{0}}) {
    EXPECT_EQ(LockLimit(bytes), std::nullopt) << bytes;
  }
}

TEST_F(PinLimitsTest, AvailableMemoryThatNoInt64HoldsDoesNotTurnNegative) {
  Write("/proc/meminfo", "MemAvailable:   9223372036854775807 kB\n");
  EXPECT_GT(ReadPinLimits(root_).available_bytes, int64_t{1} << 60);
}

TEST(DefaultPinBudgetTest, IsTheTightestLimitAndNamesIt) {
  const PinLimits limits = {.memlock_bytes = 100, .cgroup_bytes = 400, .available_bytes = 800};
  EXPECT_EQ(ChooseDefaultPinBudget(limits, true).bytes, 100);
  EXPECT_EQ(ChooseDefaultPinBudget(limits, true).origin, "RLIMIT_MEMLOCK (ulimit -l)");
  EXPECT_EQ(ChooseDefaultPinBudget(limits, false).bytes, 300);
  EXPECT_EQ(ChooseDefaultPinBudget({.available_bytes = 800}, true).bytes, 600);
  EXPECT_EQ(ChooseDefaultPinBudget({}, true).origin, "no limit");
}

}  // namespace
}  // namespace strata
