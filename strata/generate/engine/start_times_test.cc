#include "strata/generate/engine/start_times.h"

#include <chrono>
#include <thread>

#include "gtest/gtest.h"
#include "strata/core/stopwatch.h"

namespace strata {
namespace {

TEST(StartTimesTest, PartsFollowEachOtherAndAddUpToTheWhole) {
  const Stopwatch whole;
  StartTimes times;
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  times.EndPart("file");
  times.EndPart("nothing");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  times.EndPart("weights");
  const double whole_ms = whole.ms();
  ASSERT_EQ(times.parts().size(), 3u);
  EXPECT_EQ(times.parts()[0].name, "file");
  EXPECT_EQ(times.parts()[2].name, "weights");
  EXPECT_GE(times.parts()[0].ms, 3);
  EXPECT_GE(times.parts()[2].ms, 2);
  EXPECT_LT(times.parts()[1].ms, times.parts()[0].ms);
  EXPECT_LE(times.parts()[0].ms + times.parts()[1].ms + times.parts()[2].ms, whole_ms);
}

}  // namespace
}  // namespace strata
