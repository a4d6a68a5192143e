#include "strata/tools/trace_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/testing/test_trace.h"
#include "strata/cache/trace/trace_records.h"

namespace strata {
namespace {

TEST(TraceTextTest, TheHeaderSaysWhatTheTierWas) {
  TraceHeader header = TestTraceHeader();
  EXPECT_EQ(TraceHeaderText(header),
            "model layers=2 experts=4 used=2 routers=00000000000000020000000000000001"
            " experts_layout=00000000000000040000000000000003\n"
            "policy adapt_every=4 max_swaps=32 max_bytes=1099511627776 decay=0.99 margin=0.25"
            " ranked=8 seeded=8\n"
            "landing share=0.02 rule=learned classes=0,1 offered=1,0\n"
            "slot number=0 bytes=1024 expert=1.2\n"
            "slot number=1 bytes=1524 expert=none\n"
            "note placement=registered\n"
            "note verify=all\n");
}

TEST(TraceTextTest, EveryRecordIsALine) {
  const ExpertGeometry geometry = TestIdentity(2, 4, 2).geometry;
  RoutedStep step = TestStep(geometry, 3, 2);
  step.num_accepted = 1;
  EXPECT_EQ(TraceRecordText(geometry, step),
            "step number=3 kind=prompt position=30 tokens=2 accepted=1 b1=3,0/1,2 b2=3,0/1,2\n");
  EXPECT_EQ(TraceRecordText(geometry, TestStep(geometry, 4, 1)),
            "step number=4 kind=decode position=40 tokens=1 accepted=1 b1=0,1 b2=2,3\n");
  EXPECT_EQ(TraceRecordText(geometry, TraceRates{.step = 4,
                                                 .copy_bytes_per_ns = 50.5,
                                                 .miss_fixed_ns = 1000,
                                                 .miss_ns_per_byte = 0.02}),
            "rates after=4 copy_bytes_per_ns=50.5 miss_fixed_ns=1000 miss_ns_per_byte=0.02\n");
  EXPECT_EQ(
      TraceRecordText(
          geometry, TraceSwap{.step = 4, .newcomer = 5, .victim = 7, .predicted_saving_ns = 12.5}),
      "swap after=4 newcomer=2.1 victim=2.3 saving_ns=12.5\n");
  EXPECT_EQ(TraceRecordText(geometry, TraceSwap{}),
            "swap after=0 newcomer=1.0 victim=none saving_ns=0\n");
  EXPECT_EQ(TraceRecordText(geometry, TraceResidency{.step = 6,
                                                     .expert = 5,
                                                     .slot = 1,
                                                     .resident = true,
                                                     .cause = TraceResidency::Cause::kRefill}),
            "came from=6 expert=2.1 slot=1 cause=refill\n");
  EXPECT_EQ(TraceRecordText(geometry, TraceResidency{.cause = TraceResidency::Cause::kLend}),
            "left from=0 expert=1.0 slot=0 cause=lend\n");
  EXPECT_EQ(TraceRecordText(
                geometry,
                TraceLandings{.step = 7, .num_offered = 2, .landed = {{.expert = 5, .slot = 1}}}),
            "landings step=7 offered=2 2.1:1\n");
}

}  // namespace
}  // namespace strata
