#include "strata/tools/profile_screen.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/core/cli/json_output.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// 20 experts: the hottest, 5 %, takes half.
ExpertProfile Sample() {
  return TestProfile({{50, 10, 0, 0, 0, 0, 0, 0, 0, 0}, {20, 20, 0, 0, 0, 0, 0, 0, 0, 0}}, 60,
                     {"a.txt#1", "b.txt#2"});
}

TEST(ProfileScreenTest, ShowsWhatACacheWouldServe) {
  const std::string screen = ProfileScreen(Sample());
  EXPECT_THAT(screen, HasSubstr("model    2 layers (1 to 2) of 10 experts, 1 used\n"));
  EXPECT_THAT(screen, HasSubstr("counted  60 tokens, 100 routed entries\n"));
  EXPECT_THAT(screen, HasSubstr("sources  a.txt#1\n         b.txt#2\n"));
  EXPECT_THAT(screen, HasSubstr("hottest  experts     bytes    serve\n"
                                "    5 %        1  1.00 KiB   50.0 %\n"
                                "   10 %        2"));
  EXPECT_THAT(screen, HasSubstr("layer  entropy         of  unused\n"
                                "    1     0.65  3.32 bits       8\n"
                                "    2     1.00  3.32 bits       8\n"));
  EXPECT_THAT(screen, HasSubstr("layer  expert  count   share\n"
                                "    1       0     50  50.0 %\n"
                                "    2       0     20  20.0 %\n"));
}

TEST(ProfileScreenTest, JsonHoldsTheSameFacts) {
  const Json json = ProfileJson(Sample());
  EXPECT_EQ(json["tokens"], 60);
  EXPECT_EQ(json["routed"], 100);
  EXPECT_EQ(json["sources"], Json({"a.txt#1", "b.txt#2"}));
  EXPECT_EQ(json["model"]["num_experts"], 10);
  EXPECT_EQ(json["coverage"][0],
            Json({{"percent", 5}, {"experts", 1}, {"bytes", 1024}, {"share", 0.5}}));
  EXPECT_EQ(json["coverage"][5]["share"], 1);
  EXPECT_EQ(json["layers"][1]["entropy_bits"], 1);
  EXPECT_EQ(json["hottest"][2], Json({{"block", 2}, {"expert", 1}, {"count", 20}, {"share", 0.2}}));
}

TEST(ProfileScreenTest, ManySourcesAreCutShortForPeopleAlone) {
  ExpertProfile profile = Sample();
  for (int i = 10; i < 40; ++i) profile.AddSource("x" + std::to_string(i));
  EXPECT_THAT(ProfileScreen(profile), HasSubstr("and 12 more\n"));
  EXPECT_EQ(ProfileJson(profile)["sources"].size(), 32u);
}

TEST(ProfileScreenTest, AnEmptyProfileIsShownToo) {
  const ExpertProfile empty = TestProfile({{0, 0}});
  EXPECT_THAT(ProfileScreen(empty), HasSubstr("counted  0 tokens"));
  EXPECT_EQ(ProfileJson(empty)["coverage"][5]["share"], 0);
}

}  // namespace
}  // namespace strata
