// pack_verify with manifests, flags and limits that are wrong: it says so, and ends as it should.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using testing::HasSubstr;
using testing::Not;

class PackVerifyTest : public testing::Test {
 protected:
  PackVerifyTest() : folder_(NewFolder("verify")), pack_(folder_ + "/pack") {
    const OpenModel model(WriteSmallModel(folder_, "model", {}));
    EXPECT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  }
  ~PackVerifyTest() override { std::filesystem::remove_all(folder_); }

  // The manifest under a right checksum with one text for another.
  void Change(absl::string_view from, absl::string_view to) const {
    const std::string path = pack_ + "/manifest.json", text = ReadFile(path);
    const std::string body = text.substr(0, text.rfind(",\n \"checksum\""));
    const std::string changed = absl::StrReplaceAll(body, {{from, to}});
    EXPECT_NE(changed, body);
    WriteFile(path, WithManifestChecksum(changed));
  }
  ProgramResult Verify(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {Runfile("strata/tools/pack_verify").value(), pack_};
    command.insert(command.end(), more.begin(), more.end());
    return RunProgram(command);
  }

  const std::string folder_, pack_;
};

TEST_F(PackVerifyTest, NamesOfAManifestReachNoTerminalAsControls) {
  Change("output_norm.weight", "\\u001b[2Jx");
  const ProgramResult result = Verify();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("is \\x1b[2Jx, F32 of 20"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, HasSubstr("1 difference was found"));
}

TEST_F(PackVerifyTest, AModelThatIsElsewhereOrNoModelIsADifference) {
  const std::string right = folder_ + "/model.gguf";
  for (const char* path : {"../../../../etc/passwd", "/dev/zero", "/", "", "/nowhere/model.gguf"}) {
    Change(absl::StrCat("\"model\": \"", right), absl::StrCat("\"model\": \"", path));
    const ProgramResult result = Verify();
    EXPECT_EQ(result.exit_code, 2) << path;
    EXPECT_THAT(result.out, HasSubstr("differs: ")) << path;
    Change(absl::StrCat("\"model\": \"", path), absl::StrCat("\"model\": \"", right));
  }
  EXPECT_EQ(Verify().exit_code, 0);
}

TEST_F(PackVerifyTest, SlotsThatAreNoneAreTheCommandLines) {
  for (const char* slots : {"0", "0%", "1B", "-1", "9223372036854775808", "1e3", "101%", ""}) {
    const ProgramResult result =
        Verify({"--fill", "--device=cpu", absl::StrCat("--slots=", slots)});
    EXPECT_EQ(result.exit_code, 1) << slots;
    EXPECT_THAT(result.err, HasSubstr("--slots")) << slots;
  }
}

TEST_F(PackVerifyTest, SwapsMayBeMoreThanSlotsAndExperts) {
  const std::string model = WriteSmallModel(folder_, "single", {.layers = 1, .experts = 1});
  for (const std::string& path : {model, pack_}) {
    const ProgramResult result = RunProgram({Runfile("strata/tools/pack_verify").value(), path,
                                             "--fill", "--device=cpu", "--swaps=50"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("swaps 50: ")) << path;
  }
}

}  // namespace
}  // namespace strata
