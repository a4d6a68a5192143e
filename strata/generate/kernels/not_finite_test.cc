#include "strata/generate/kernels/not_finite.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

TEST(NotFiniteErrorTest, IsAnInputErrorThatSaysWhere) {
  const absl::Status status = NotFiniteError("layer 3: the router's logits");
  EXPECT_EQ(ErrorKind(status), "nan_logits");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInputFile);
  EXPECT_NE(std::string(status.message()).find("layer 3: the router's logits"), std::string::npos);
}

}  // namespace
}  // namespace strata
