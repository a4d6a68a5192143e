#include "strata/generate/kernels/isa.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

TEST(IsaTest, ReadsEachNameThatItPrints) {
  for (Isa isa : AllIsas()) {
    const absl::StatusOr<Isa> parsed = ParseIsa(NameOf(isa));
    if (IsSupported(isa)) {
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(*parsed, isa);
    } else {
      EXPECT_EQ(ExitCodeOf(parsed.status()), ExitCode::kMachine) << parsed.status();
    }
  }
}

TEST(IsaTest, TakesTheBestThatTheMachineHas) {
  EXPECT_TRUE(IsSupported(BestIsa()));
  for (Isa isa : AllIsas()) EXPECT_TRUE(isa <= BestIsa() || !IsSupported(isa)) << NameOf(isa);
  const absl::StatusOr<Isa> automatic = ParseIsa("auto");
  ASSERT_TRUE(automatic.ok()) << automatic.status();
  EXPECT_EQ(*automatic, BestIsa());
}

TEST(IsaTest, RefusesAnUnknownName) {
  const absl::StatusOr<Isa> parsed = ParseIsa("avx");
  EXPECT_EQ(ExitCodeOf(parsed.status()), ExitCode::kCommandLine) << parsed.status();
}

TEST(IsaTest, UsesTheBestUntilAnotherIsSet) {
  EXPECT_EQ(CurrentIsa(), BestIsa());
  SetIsa(Isa::kScalar);
  EXPECT_EQ(CurrentIsa(), Isa::kScalar);
  SetIsa(BestIsa());
  EXPECT_EQ(CurrentIsa(), BestIsa());
}

}  // namespace
}  // namespace strata
