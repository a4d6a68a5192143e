#include "strata/core/refusal.h"

#include <new>
#include <system_error>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

TEST(RefusalTest, PassesOnWhatIsReturned) {
  EXPECT_TRUE(CatchRefusal([] { return absl::OkStatus(); }).ok());
  EXPECT_TRUE(absl::IsDataLoss(CatchRefusal([] { return absl::DataLossError("a slot"); })));
}

TEST(RefusalTest, MemoryAndThreadsThatAreNotToBeHadAreTheMachinesFault) {
  const absl::Status no_memory = CatchRefusal([]() -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(ExitCodeOf(no_memory), ExitCode::kMachine) << no_memory;
  EXPECT_THAT(no_memory.message(), HasSubstr("out of memory"));
  const absl::Status no_thread = CatchRefusal([]() -> absl::Status {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(ExitCodeOf(no_thread), ExitCode::kMachine) << no_thread;
  EXPECT_THAT(no_thread.message(), HasSubstr("unavailable"));
}

}  // namespace
}  // namespace strata
