#include "strata/core/bus_error_handler.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "gtest/gtest.h"

namespace strata {
namespace {

// Two pages of a file without a name that holds only one of them, or none.
class BusErrorHandlerTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = memfd_create("two_pages", MFD_CLOEXEC);
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(ftruncate(fd_, 2 * page_bytes_), 0);
    void* const data = mmap(nullptr, 2 * page_bytes_, PROT_READ, MAP_SHARED, fd_, 0);
    ASSERT_NE(data, MAP_FAILED);
    data_ = static_cast<const volatile char*>(data);
  }
  void TearDown() override {
    munmap(const_cast<char*>(data_), 2 * page_bytes_);
    close(fd_);
  }
  const std::byte* data() const {
    return reinterpret_cast<const std::byte*>(const_cast<const char*>(data_));
  }
  char At(size_t i) const { return data_[i]; }

  const size_t page_bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  int fd_ = -1;
  const volatile char* data_ = nullptr;
};

TEST_F(BusErrorHandlerTest, AMissingPageReadsAsZerosAndIsNoted) {
  const char old = 'x';
  ASSERT_EQ(pwrite(fd_, &old, 1, 0), 1);
  BackedRegion region(data(), 2 * page_bytes_, fd_);
  ASSERT_EQ(ftruncate(fd_, page_bytes_), 0);
  EXPECT_EQ(At(0), 'x');
  EXPECT_FALSE(region.missed_a_page());
  EXPECT_EQ(At(page_bytes_), 0);
  EXPECT_TRUE(region.missed_a_page());
}

TEST_F(BusErrorHandlerTest, ALaterRegionOfTheSameAddressBeginsUnmarked) {
  {
    BackedRegion region(data(), 2 * page_bytes_, fd_);
    ASSERT_EQ(ftruncate(fd_, 0), 0);
    EXPECT_EQ(At(0), 0);
    EXPECT_TRUE(region.missed_a_page());
  }
  BackedRegion region(data(), 2 * page_bytes_, fd_);
  EXPECT_FALSE(region.missed_a_page());
}

using BusErrorHandlerDeathTest = BusErrorHandlerTest;

TEST_F(BusErrorHandlerDeathTest, AFaultElsewhereStillEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        void* const page = mmap(nullptr, page_bytes_, PROT_READ, MAP_SHARED, fd_, 0);
        BackedRegion region(static_cast<const std::byte*>(page), page_bytes_, fd_);
        if (ftruncate(fd_, 0) == 0) static_cast<void>(At(0));
      },
      "");
}

TEST_F(BusErrorHandlerDeathTest, ASentSignalStillEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        BackedRegion region(data(), page_bytes_, fd_);
        raise(SIGBUS);
      },
      "");
}

void ExitWith42(int) { _exit(42); }

TEST_F(BusErrorHandlerDeathTest, AFaultElsewhereReachesTheHandlerThatWasThereBefore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        signal(SIGBUS, ExitWith42);
        void* const page = mmap(nullptr, page_bytes_, PROT_READ, MAP_SHARED, fd_, 0);
        BackedRegion region(static_cast<const std::byte*>(page), page_bytes_, fd_);
        if (ftruncate(fd_, 0) == 0) static_cast<void>(At(0));
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace strata
