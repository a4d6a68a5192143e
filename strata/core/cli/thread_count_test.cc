#include "strata/core/cli/thread_count.h"

#include <sched.h>

#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

TEST(ThreadCountTest, TakesWhatIsAskedFor) {
  EXPECT_EQ(*ThreadCount(7), 7);
  EXPECT_EQ(ExitCodeOf(ThreadCount(kMaxThreads + 1).status()), ExitCode::kCommandLine);
}

TEST(ThreadCountTest, OtherwiseAsManyAsTheProcessMayUse) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(*ThreadCount(0), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(*ThreadCount(0), 1);
  sched_setaffinity(0, sizeof(before), &before);
}

}  // namespace
}  // namespace strata
