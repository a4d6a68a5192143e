#include "strata/generate/commands/idle_flags.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Idle(const RunFacts& facts, const std::set<std::string>& given) {
  return IdleFlags(facts,
                   [&](absl::string_view flag) { return given.count(std::string(flag)) > 0; });
}

TEST(IdleFlagsTest, AFlagThatWorksIsNotSpokenOf) {
  const RunFacts all = {true, true, true, true, true, true, true, true, true, true};
  EXPECT_THAT(Idle(all, {"top_k", "lend", "host_experts", "vram_limit", "snapshot_memory",
                         "pin_budget", "stage_memory"}),
              IsEmpty());
  EXPECT_THAT(Idle({}, {"prompt", "max_new"}), IsEmpty());
}

TEST(IdleFlagsTest, AFlagThatChangesNothingIsSaidWithTheReason) {
  EXPECT_THAT(
      Idle({.has_experts = true}, {"top_k", "lend", "vram_limit"}),
      ElementsAre("--top_k has no effect: the most likely token is always taken (--temperature 0)",
                  "--vram_limit has no effect: the CPU computes",
                  "--lend has no effect: no expert has a slot (--expert_cache)"));
}

TEST(IdleFlagsTest, AFlagIsSaidOnce) {
  EXPECT_THAT(Idle({}, {"host_experts"}),
              ElementsAre("--host_experts has no effect: the model has no experts"));
  EXPECT_THAT(Idle({.has_experts = true}, {"host_experts"}),
              ElementsAre("--host_experts has no effect: there is no arena of experts "
                          "(--expert_source)"));
}

}  // namespace
}  // namespace strata
