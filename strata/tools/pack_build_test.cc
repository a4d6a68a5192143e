// pack_build with a profile; pack_tools_test has the rest of it.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(PackBuildTest, TheHottestExpertsOfAProfileComeFirst) {
  const std::string folder = NewFolder("pack_build"), pack = folder + "/pack";
  const std::string path = WriteSmallModel(folder, "model", {.layers = 3, .experts = 8});
  const OpenModel model(path);
  ExpertProfile profile(model.identity);
  profile.Count({.num_tokens = 1, .num_accepted = 1, .experts = {1, 7, 5}});
  ASSERT_TRUE(SaveProfile(profile, folder + "/hot").ok());
  const std::string tool = Runfile("strata/tools/pack_build").value();
  const ProgramResult built =
      RunProgram({tool, path, "--out", pack, "--layout", "--profile", folder + "/hot"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const absl::StatusOr<PackManifest> manifest = LoadPackManifest(pack);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->layout->order, "profile");
  const std::vector<int64_t>& offsets = manifest->layout->offsets;
  std::vector<int> first;
  for (int number = 0; number < 24; ++number) {
    if (offsets[number] < 4096 + 3 * 8192) first.push_back(number);
  }
  EXPECT_THAT(first, UnorderedElementsAre(1, 8 + 7, 16 + 5));
  // A profile of another model is refused, and the pack stays.
  const std::string other = WriteSmallModel(folder, "other", {.seed = 2});
  const ProgramResult refused =
      RunProgram({tool, other, "--out", pack, "--layout", "--profile", folder + "/hot"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("[profile_mismatch]"));
  EXPECT_TRUE(LoadPackManifest(pack).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strata
