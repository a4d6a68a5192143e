#include "strata/cache/host/registered_mapping.h"

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/file_mapping.h"
#include "strata/core/host_device.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using ::testing::HasSubstr;

constexpr int64_t kPage = 4096;

class RegisteredMappingTest : public ::testing::Test {
 protected:
  static constexpr int64_t kFileBytes = 40 * kPage + 100;

  RegisteredMappingTest() {
    std::ofstream(path_) << std::string(kFileBytes, 'x');
    file_ = std::move(FileMapping::Open(path_)).value();
  }
  ~RegisteredMappingTest() override { std::remove(path_.c_str()); }

  const std::string path_ = ::testing::TempDir() + "/registered_mapping_test";
  std::unique_ptr<FileMapping> file_;
  HostDevice device_;
  PinBudget budget_{int64_t{1} << 40, "a test"};
};

TEST_F(RegisteredMappingTest, PinsTheWholePagesOfAWindowAndUnpinsThemAtTheEnd) {
  {
    RegisteredMapping mapping(*file_, device_, budget_);
    ASSERT_TRUE(mapping.Register(std::vector<FileWindow>{{kPage + 10, 100}}).ok());
    EXPECT_EQ(mapping.registered_bytes(), kPage);
    EXPECT_EQ(device_.pinned_bytes(), kPage);
    EXPECT_EQ(budget_.reserved_bytes(), kPage);
    EXPECT_TRUE(mapping.Holds({kPage + 10, 100}));
    EXPECT_TRUE(mapping.Holds({kPage, kPage}));
    EXPECT_FALSE(mapping.Holds({kPage - 1, 2}));
    EXPECT_FALSE(mapping.Holds({kPage, kPage + 1}));
    EXPECT_FALSE(mapping.Holds({3 * kPage, 1}));
  }
  EXPECT_EQ(device_.pinned_bytes(), 0);
  EXPECT_EQ(budget_.reserved_bytes(), 0);
}

TEST_F(RegisteredMappingTest, PinsPagesThatWindowsShareOnce) {
  RegisteredMapping mapping(*file_, device_, budget_);
  const std::vector<FileWindow> windows = {
      {5 * kPage + 7, 2 * kPage}, {9 * kPage, kPage}, {4 * kPage, kPage + 8}, {6 * kPage, 10}};
  EXPECT_EQ(mapping.PinnedBytes(windows), 5 * kPage);
  ASSERT_TRUE(mapping.Register(windows).ok());
  EXPECT_EQ(mapping.num_pieces(), 2);
  EXPECT_EQ(mapping.registered_bytes(), 5 * kPage);
  for (const FileWindow& window : windows) EXPECT_TRUE(mapping.Holds(window));
  EXPECT_FALSE(mapping.Holds({8 * kPage, 1}));
}

TEST_F(RegisteredMappingTest, CutsLongWindowsAtPageBordersAndTheLastPieceEndsWithTheFile) {
  RegisteredMapping mapping(*file_, device_, budget_, /*max_piece_bytes=*/16 * kPage);
  ASSERT_TRUE(mapping.Register(std::vector<FileWindow>{{0, kFileBytes}}).ok());
  EXPECT_EQ(mapping.num_pieces(), 3);
  EXPECT_EQ(mapping.registered_bytes(), kFileBytes);
  EXPECT_TRUE(mapping.Holds({16 * kPage, 16 * kPage}));
  EXPECT_TRUE(mapping.Holds({kFileBytes - 1, 1}));
  // One copy cannot read from two registrations.
  EXPECT_FALSE(mapping.Holds({16 * kPage - 1, 2}));
}

TEST_F(RegisteredMappingTest, AdjacentWindowsAreOnePieceUpToItsLargestSize) {
  RegisteredMapping mapping(*file_, device_, budget_, /*max_piece_bytes=*/4 * kPage);
  std::vector<FileWindow> windows;
  for (int i = 0; i < 10; ++i) windows.push_back({i * kPage, kPage});
  ASSERT_TRUE(mapping.Register(windows).ok());
  EXPECT_EQ(mapping.num_pieces(), 3);
  EXPECT_TRUE(mapping.Holds({kPage, 3 * kPage}));
}

TEST_F(RegisteredMappingTest, ARefusalOfAnyPieceLeavesNothingPinnedAndNoErrorBehind) {
  for (int n = 1; n <= 3; ++n) {
    RegisteredMapping mapping(*file_, device_, budget_, /*max_piece_bytes=*/16 * kPage);
    device_.faults().FailNth(Call::kRegister, n);
    const absl::Status status = mapping.Register(std::vector<FileWindow>{{0, kFileBytes}});
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
    EXPECT_EQ(mapping.registered_bytes(), 0);
    EXPECT_EQ(device_.pinned_bytes(), 0);
    EXPECT_EQ(budget_.reserved_bytes(), 0);
    EXPECT_FALSE(mapping.Holds({0, 1}));
    EXPECT_TRUE(device_.GetMemoryInfo().ok());
  }
}

TEST_F(RegisteredMappingTest, TooLittleMemoryIsNotHeldAgainstTheFile) {
  RegisteredMapping mapping(*file_, device_, budget_);
  device_.faults().FailNth(Call::kRegister, 1);
  EXPECT_FALSE(mapping.Register(std::vector<FileWindow>{{0, kFileBytes}}).ok());
  EXPECT_TRUE(mapping.refusal().ok());
  EXPECT_TRUE(mapping.Register(std::vector<FileWindow>{{0, kPage}}).ok());
}

TEST_F(RegisteredMappingTest, RemembersThatTheFilesystemRefusesAndDoesNotAskAgain) {
  HostDevice device({.read_only_refusal = absl::InvalidArgumentError("invalid argument")});
  RegisteredMapping mapping(*file_, device, budget_);
  const std::vector<FileWindow> window = {{0, kPage}};
  EXPECT_TRUE(absl::IsUnimplemented(mapping.Register(window)));
  EXPECT_TRUE(absl::IsUnimplemented(mapping.Register(window)));
  EXPECT_THAT(std::string(mapping.refusal().message()), HasSubstr("invalid argument"));
  EXPECT_EQ(device.faults().num_calls(Call::kRegister), 1);
}

TEST_F(RegisteredMappingTest, AsksNothingOfADeviceThatCannotPinReadOnly) {
  HostDevice device({.can_register_read_only = false});
  RegisteredMapping mapping(*file_, device, budget_);
  EXPECT_TRUE(absl::IsUnimplemented(mapping.Register(std::vector<FileWindow>{{0, kPage}})));
  EXPECT_EQ(device.faults().num_calls(Call::kRegister), 0);
}

TEST_F(RegisteredMappingTest, StaysWithinTheBudget) {
  PinBudget budget(3 * kPage, "--pin_budget");
  RegisteredMapping mapping(*file_, device_, budget, /*max_piece_bytes=*/kPage);
  const absl::Status status = mapping.Register(std::vector<FileWindow>{{0, 4 * kPage}});
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the pin budget (--pin_budget)"));
  EXPECT_EQ(budget.reserved_bytes(), 0);
  EXPECT_TRUE(mapping.Register(std::vector<FileWindow>{{0, 3 * kPage}}).ok());
}

}  // namespace
}  // namespace strata
