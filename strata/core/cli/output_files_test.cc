#include "strata/core/cli/output_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directory(folder);
    std::ofstream(folder + "/model") << "a model";
  }
  absl::Status Check(const std::string& output, const std::string& input) const {
    return CheckOutputs({{"--out", output}}, {{"--model", input}});
  }
  absl::Status CheckTwo(const std::string& a, const std::string& b) const {
    return CheckOutputs({{"--a", a}, {"--b", b}}, {});
  }

  const std::string folder = ::testing::TempDir() + "/output_files";
};

TEST_F(OutputFilesTest, AnInputIsFoundUnderEveryNameItHas) {
  fs::create_symlink("model", folder + "/link");
  fs::create_hard_link(folder + "/model", folder + "/hard");
  for (const char* name : {"/model", "/link", "/hard", "/./model", "/../output_files/model"}) {
    const absl::Status status = Check(folder + name, folder + "/model");
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kCommandLine) << name;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("--out names a file that is read (--model)"));
  }
  EXPECT_TRUE(Check(folder + "/other", folder + "/model").ok());
  EXPECT_TRUE(Check("", folder + "/model").ok());
}

TEST_F(OutputFilesTest, TwoOutputsAreOneFileEvenBeforeItIsThere) {
  EXPECT_EQ(ExitCodeOf(CheckTwo(folder + "/new", folder + "/./new")), ExitCode::kCommandLine);
  EXPECT_EQ(ExitCodeOf(CheckTwo(folder + "/model", folder + "/model")), ExitCode::kCommandLine);
  EXPECT_TRUE(CheckTwo(folder + "/new", folder + "/newer").ok());
  EXPECT_TRUE(CheckTwo("", "").ok());
}

TEST_F(OutputFilesTest, DevicesAreTakenAsOftenAsTheyAreNamed) {
  EXPECT_TRUE(CheckTwo("/dev/null", "/dev/null").ok());
  EXPECT_TRUE(Check("/dev/null", "/dev/null").ok());
}

}  // namespace
}  // namespace strata
