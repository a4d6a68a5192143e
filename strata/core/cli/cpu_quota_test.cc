#include "strata/core/cli/cpu_quota.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

// A /proc and a /sys of a test.
class CpuQuotaTest : public ::testing::Test {
 protected:
  CpuQuotaTest()
      : root_(fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  void Write(const std::string& path, const std::string& line) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << line << "\n";
  }
  std::optional<double> Quota() const { return CpuQuota(root_.string()); }

 private:
  const fs::path root_;
};

TEST_F(CpuQuotaTest, IsTheLeastOfTheGroupAndThoseAroundIt) {
  Write("proc/self/cgroup", "0::/pods/one/run");
  Write("sys/fs/cgroup/pods/one/run/cpu.max", "max 100000");
  Write("sys/fs/cgroup/pods/one/cpu.max", "150000 100000");
  Write("sys/fs/cgroup/pods/cpu.max", "400000 100000");
  EXPECT_EQ(Quota(), 1.5);
}

TEST_F(CpuQuotaTest, AContainerSeesItsGroupAsTheRoot) {
  Write("proc/self/cgroup", "0::/");
  Write("sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(Quota(), 2.0);
}

TEST_F(CpuQuotaTest, ReadsTheFilesOfVersion1) {
  Write("proc/self/cgroup", "4:cpu,cpuacct:/docker/1f\n3:memory:/docker/1f");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Quota(), 0.5);
}

TEST_F(CpuQuotaTest, WithoutALimitThereIsNone) {
  EXPECT_EQ(Quota(), std::nullopt);
  Write("proc/self/cgroup", "0::/a\n4:cpu:/");
  Write("sys/fs/cgroup/a/cpu.max", "max 100000");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Quota(), std::nullopt);
}

}  // namespace
}  // namespace strata
