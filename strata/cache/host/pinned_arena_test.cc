#include "strata/cache/host/pinned_arena.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/core/error.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/log_capture.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

class PinnedArenaTest : public ::testing::Test {
 protected:
  std::unique_ptr<PinnedArena> Make(int num_spare_places, absl::Span<const ExpertId> ids) {
    return std::move(PinnedArena::Create({.num_spare_places = num_spare_places, .num_readers = 3},
                                         ids, reader_, memory_))
        .value();
  }

  const TestExperts experts_;
  BlobReader reader_{experts_.files()};
  HostDevice device_{{.copies = HostDevice::kHeld}};
  PinBudget budget_{int64_t{1} << 40, "a test"};
  HostMemory memory_{device_, budget_};
};

TEST_F(PinnedArenaTest, HoldsPinnedBlobsOfTheExpertsAskedForAndNoOthers) {
  const std::unique_ptr<PinnedArena> arena = Make(0, experts_.ids().subspan(3, 9));
  EXPECT_TRUE(arena->memory().pinned());
  EXPECT_EQ(arena->num_experts(), 9);
  for (size_t i = 0; i < experts_.ids().size(); ++i) {
    const std::byte* const blob = arena->Find(experts_.ids()[i]);
    ASSERT_EQ(blob != nullptr, i >= 3 && i < 12);
    if (blob == nullptr) continue;
    EXPECT_TRUE(experts_.IsBlobOf(experts_.ids()[i], blob));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blob) % 256, 0u);
  }
}

TEST_F(PinnedArenaTest, InsertsIntoSparePlacesUntilThereAreNone) {
  const std::unique_ptr<PinnedArena> arena = Make(2, experts_.ids().subspan(0, 4));
  EXPECT_EQ(arena->num_spare_places(), 2 + 1) << "one of the smaller size as well";
  for (const int i : {14, 15}) {
    const ExpertId id = experts_.ids()[i];
    EXPECT_TRUE(experts_.IsBlobOf(id, arena->Insert(id).value()));
    EXPECT_EQ(arena->Insert(id).value(), arena->Find(id));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(arena->Insert(experts_.ids()[13]).status()));
  EXPECT_EQ(arena->num_experts(), 6);
}

TEST_F(PinnedArenaTest, GivesAPlaceAgainOnlyWhenItsLastReaderHasEnded) {
  const std::unique_ptr<PinnedArena> arena = Make(0, experts_.ids().subspan(0, 4));
  const DeviceStream stream = *device_.CreateStream();
  const DeviceMemory slot = *device_.Allocate(experts_.files().max_blob_bytes());
  const ExpertId old = experts_.ids()[0], fresh = experts_.ids()[4];
  ASSERT_TRUE(
      device_
          .CopyToDevice(slot.data(),
                        {arena->Find(old), static_cast<size_t>(experts_.files().BlobBytes(old))},
                        stream)
          .ok());
  arena->Release(old, *device_.Record(stream));
  EXPECT_EQ(arena->Find(old), nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(arena->Insert(fresh).status()));
  device_.RunHeldCopies();
  EXPECT_TRUE(experts_.IsBlobOf(old, slot.data()));
  EXPECT_TRUE(experts_.IsBlobOf(fresh, arena->Insert(fresh).value()));
}

TEST_F(PinnedArenaTest, TakesTheSmallestPlaceThatIsLargeEnough) {
  const std::unique_ptr<PinnedArena> arena = Make(1, experts_.ids().subspan(0, 1));
  const ExpertId small = experts_.ids()[0], large = experts_.ids()[8];
  arena->Release(small, {});
  ASSERT_TRUE(arena->Insert(experts_.ids()[1]).ok());
  EXPECT_TRUE(arena->Insert(large).ok());
}

TEST_F(PinnedArenaTest, KeepsAPlaceForLargeExpertsWhateverSmallOnesWant) {
  const std::unique_ptr<PinnedArena> arena = Make(3, experts_.ids().subspan(0, 1));
  // Three large places and a small one: small experts get all but the last of the large.
  int num_inserted = 0;
  for (int i = 1; i < 8; ++i) num_inserted += arena->Insert(experts_.ids()[i]).ok();
  EXPECT_EQ(num_inserted, 3);
  EXPECT_EQ(arena->num_spare_places(), 1);
  EXPECT_TRUE(arena->Insert(experts_.ids()[8]).ok());
  EXPECT_EQ(arena->num_experts() + arena->num_spare_places(), arena->num_places());
}

TEST_F(PinnedArenaTest, HoldsTheHottestWhenLessCanBePinned) {
  PinBudget budget(PinnedArena::SpareBytes(experts_.files(), 1) +
                       5 * experts_.files().BlobBytes(experts_.ids()[0]) / 2,
                   "--pin_budget");
  HostMemory memory(device_, budget);
  LogCapture log;
  const auto arena = PinnedArena::Create({.num_spare_places = 1}, experts_.ids(), reader_, memory);
  ASSERT_TRUE(arena.ok()) << arena.status();
  EXPECT_EQ((*arena)->num_experts(), 2);
  EXPECT_NE((*arena)->Find(experts_.ids()[1]), nullptr);
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_THAT(log.warnings()[0], HasSubstr("arena of experts: asked for"));
}

TEST_F(PinnedArenaTest, IsAnErrorWhereNothingCanBePinned) {
  PinBudget budget(1000, "--pin_budget");
  HostMemory memory(device_, budget);
  EXPECT_TRUE(
      absl::IsResourceExhausted(PinnedArena::Create({}, experts_.ids(), reader_, memory).status()));
}

TEST_F(PinnedArenaTest, TellsOfAFileThatHasBecomeShorter) {
  ASSERT_EQ(truncate(experts_.path(1).c_str(), 100), 0);
  const absl::Status status = PinnedArena::Create({}, experts_.ids(), reader_, memory_).status();
  EXPECT_EQ(ErrorKind(status), "changed") << status;
}

}  // namespace
}  // namespace strata
