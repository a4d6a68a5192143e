#include "strata/core/cli/progress.h"

#include <chrono>
#include <sstream>

#include "gtest/gtest.h"

namespace strata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Progress::Clock::time_point kStart{seconds(1000)};

TEST(ProgressTest, SaysNothingOfAShortJob) {
  std::ostringstream out;
  {
    Progress({.label = "job", .total = 10, .out = &out}, kStart)
        .Add(10, kStart + milliseconds(400));
  }
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressTest, PrintsSparseLinesInALog) {
  std::ostringstream out;
  {
    Progress progress({.label = "hashing", .total = 1000, .out = &out}, kStart);
    for (int i = 1; i <= 1000; ++i) progress.Add(1, kStart + milliseconds(20) * i);
  }
  EXPECT_EQ(out.str(),
            "hashing: 250 of 1000 (25 %), 50/s, 15 s left\n"
            "hashing: 500 of 1000 (50 %), 50/s, 10 s left\n"
            "hashing: 750 of 1000 (75 %), 50/s, 5 s left\n"
            "hashing: 1000 of 1000 (100 %), 50/s\n");
}

TEST(ProgressTest, WritesOverOneLineOnATerminal) {
  std::ostringstream out;
  {
    Progress progress({.label = "copy",
                       .total = 4 << 20,
                       .unit = Progress::Unit::kBytes,
                       .out = &out,
                       .terminal = true},
                      kStart);
    progress.Add(1 << 20, kStart + seconds(1));
    progress.Add(1, kStart + milliseconds(1050));  // Too soon.
    progress.Add((3 << 20) - 1, kStart + seconds(2));
  }
  EXPECT_EQ(out.str(),
            "\rcopy: 1.00 MiB of 4.00 MiB (25 %), 1.00 MiB/s, 3 s left"
            "\rcopy: 4.00 MiB of 4.00 MiB (100 %), 2.00 MiB/s         \n");
}

TEST(ProgressTest, ALongJobSaysThatItStartsAndCountsWhatPeopleAskFor) {
  std::ostringstream out;
  {
    Progress progress({.label = "profiling",
                       .total = 1000,
                       .unit = Progress::Unit::kBytes,
                       .counted = "tokens",
                       .says_start = true,
                       .out = &out},
                      kStart);
    EXPECT_EQ(out.str(), "profiling: 0 B of 1000 B (0 %)\n");
    progress.Count(300);
    progress.Add(500, kStart + seconds(6));
    progress.Count(12);
    progress.Add(500, kStart + seconds(60));
  }
  EXPECT_EQ(out.str(),
            "profiling: 0 B of 1000 B (0 %)\n"
            "profiling: 500 B of 1000 B (50 %), 50 tokens/s, 6 s left\n"
            "profiling: 1000 B of 1000 B (100 %), 5.2 tokens/s\n");
}

TEST(ProgressTest, CountsWhenTheTotalIsUnknown) {
  std::ostringstream out;
  { Progress({.label = "scan", .out = &out}, kStart).Add(12, kStart + seconds(6)); }
  EXPECT_EQ(out.str(), "scan: 12, 2/s\n");
}

}  // namespace
}  // namespace strata
