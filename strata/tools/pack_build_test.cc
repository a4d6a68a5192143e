// pack_build with a profile, on a disk that becomes full, and what it says of going on;
// pack_tools_test has the rest of it.
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

std::set<std::string> Entries(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

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

// As on a disk that another program fills meanwhile.
TEST(PackBuildTest, AFullDiskInTheMiddleLeavesTheOldPackOrSaysHowToGoOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be the first library";
#endif
  const std::string folder = NewFolder("pack_build"), pack = folder + "/pack";
  const std::string old_model = WriteSmallModel(folder, "old", {});
  const std::string model = WriteSmallModel(folder, "model", {.layers = 1, .seed = 2});
  const std::string build = Runfile("strata/tools/pack_build").value();
  const std::string verify = Runfile("strata/tools/pack_verify").value();
  const std::string library = Runfile("strata/cache/pack/testing/libfailing_calls.so").value();
  int num_failures = 0, num_old = 0, num_resumed = 0;
  for (const char* call : {"write", "pwrite", "fsync", "fdatasync", "rename", "fallocate"}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 1000);
      std::filesystem::remove_all(pack);
      ASSERT_EQ(RunProgram({build, old_model, "--out", pack, "--layout"}).exit_code, 0);
      const std::vector<std::string> command = {build,      model,         "--out",         pack,
                                                "--layout", "--threads=1", "--save_every=0"};
      const ProgramResult full = RunProgram(
          command,
          {.environment = {"LD_PRELOAD=" + library, absl::StrCat("FAIL_CALL=", call),
                           absl::StrCat("FAIL_NTH=", n), absl::StrCat("FAIL_ERRNO=", ENOSPC)}});
      if (full.exit_code == 0) break;
      ++num_failures;
      ASSERT_EQ(full.exit_code, 3) << call << " " << n << ": " << full.err;
      EXPECT_THAT(full.err, HasSubstr("No space left on device")) << call << " " << n;
      const ProgramResult after = RunProgram({verify, pack});
      num_old += after.exit_code == 0;
      EXPECT_TRUE(after.exit_code == 0 || absl::StrContains(after.err, "resume with: pack_build"))
          << call << " " << n << ": " << after.out << after.err;
      const ProgramResult next = RunProgram(command);
      ASSERT_EQ(next.exit_code, 0) << next.err;
      num_resumed += absl::StrContains(next.err, "going on");
      EXPECT_EQ(RunProgram({verify, pack}).exit_code, 0);
      EXPECT_THAT(Entries(pack), UnorderedElementsAre("experts.bin", "manifest.json"));
    }
  }
  std::cout << num_failures << " calls found the disk full; the old pack stayed in " << num_old
            << ", the next build went on in " << num_resumed << std::endl;
  EXPECT_GT(num_failures, 40);
  EXPECT_GT(num_resumed, 10);
  std::filesystem::remove_all(folder);
}

TEST(PackBuildTest, WhereRoomCannotBeTakenAtOnceTheBuildGoesWithoutIt) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be the first library";
#endif
  const std::string folder = NewFolder("pack_build"), pack = folder + "/pack";
  const std::string library = Runfile("strata/cache/pack/testing/libfailing_calls.so").value();
  const ProgramResult built =
      RunProgram({Runfile("strata/tools/pack_build").value(), WriteSmallModel(folder, "model", {}),
                  "--out", pack, "--layout"},
                 {.environment = {"LD_PRELOAD=" + library, "FAIL_CALL=fallocate", "FAIL_NTH=1",
                                  absl::StrCat("FAIL_ERRNO=", EOPNOTSUPP)}});
  EXPECT_EQ(built.exit_code, 0) << built.err;
  EXPECT_EQ(RunProgram({Runfile("strata/tools/pack_verify").value(), pack}).exit_code, 0);
  std::filesystem::remove_all(folder);
}

// What goes on is not bound to the folder that the build was started from.
TEST(PackBuildTest, TheCommandThatResumesNamesWholePaths) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be the first library";
#endif
  const std::string folder =
      std::filesystem::path(NewFolder("pack_build")).lexically_normal().string();
  WriteSmallModel(folder, "model", {});
  const std::string build = Runfile("strata/tools/pack_build").value();
  const std::string library = Runfile("strata/cache/pack/testing/libfailing_calls.so").value();
  const ProgramResult failed = RunProgram(
      {"/bin/sh", "-c", absl::StrCat("cd ", folder, " && ", build, " model.gguf --out pack")},
      {.environment = {"LD_PRELOAD=" + library, "FAIL_CALL=rename", "FAIL_NTH=2"}});
  EXPECT_EQ(failed.exit_code, 2) << failed.err;
  EXPECT_THAT(RunProgram({Runfile("strata/tools/pack_verify").value(), folder + "/pack"}).err,
              HasSubstr(absl::StrCat("'", folder, "/model.gguf' --out '", folder, "/pack'")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strata
