// generate and stagebench with experts from a pack: the same bytes come out, and files that change
// under them are an error with a name.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/cache/pack/testing/split_model.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using ::nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

ProgramResult RunTool(const std::string& program, const Strings& arguments) {
  Strings command = {Runfile(program).value()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command);
}

class PackUseTest : public testing::Test {
 protected:
  PackUseTest() : folder_(NewFolder("use")), pack_(folder_ + "/pack") {}
  ~PackUseTest() override { fs::remove_all(folder_); }

  static std::string Tiny() { return Runfile("testdata/strata-tiny-q4_k_m.gguf").value(); }
  void Build(const std::string& model, const Strings& more = {"--layout"}) const {
    Strings arguments = {model, "--out", pack_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult built = RunTool("strata/tools/pack_build", arguments);
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }
  ProgramResult Generate(const std::string& model, const Strings& more) const {
    Strings arguments = {"--model",
                         model,
                         "--device=cpu",
                         "--prompt",
                         "In the beginning God created",
                         "--max_new=12",
                         "--ignore_eos",
                         "--dump_logits",
                         folder_ + "/logits"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunTool("strata/generate/generate", arguments);
  }
  // Text and logits are the same with the pack, wherever experts are.
  void ExpectTheSameBytes(const std::string& model) const {
    const ProgramResult without = Generate(model, {});
    ASSERT_EQ(without.exit_code, 0) << without.err;
    const std::string logits = ReadFile(folder_ + "/logits");
    const Strings settings[] = {{},
                                {"--expert_cache=25%", "--adapt_every=1", "--lend=3"},
                                {"--expert_source=registered", "--expert_cache=10%"},
                                {"--expert_source=arena", "--expert_cache=50%", "--prefill=on"},
                                {"--expert_source=stage", "--pin_budget=0"}};
    for (Strings setting : settings) {
      setting.insert(setting.end(), {"--pack", pack_});
      const ProgramResult with = Generate(model, setting);
      ASSERT_EQ(with.exit_code, 0) << with.err;
      EXPECT_EQ(with.out, without.out) << setting[0];
      EXPECT_EQ(ReadFile(folder_ + "/logits") == logits, true) << setting[0];
    }
  }

  const std::string folder_, pack_;
};

TEST_F(PackUseTest, GenerateGivesTheSameBytesWithAPack) {
  Build(Tiny());
  ExpectTheSameBytes(Tiny());
}

TEST_F(PackUseTest, AModelOfFiveShardsGivesTheSameBytesWithAPackAndAsOneFile) {
  const std::string split = SplitModel(Tiny(), folder_, "split", 5);
  Build(split);
  const ProgramResult verified = RunTool(
      "strata/tools/pack_verify", {pack_, "--fill", "--device=cpu", "--lend=9", "--swaps=9"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  ExpectTheSameBytes(split);
  const ProgramResult of_shards = Generate(split, {"--pack", pack_});
  const std::string logits = ReadFile(folder_ + "/logits");
  const ProgramResult of_one = Generate(Tiny(), {});
  EXPECT_EQ(of_shards.out, of_one.out);
  EXPECT_EQ(ReadFile(folder_ + "/logits") == logits, true);
}

TEST_F(PackUseTest, PacksOfLargerModelsVerifyAndGiveTheSameBytes) {
  const char* const data = std::getenv("STRATA_TEST_DATA");
  if (data == nullptr || *data == '\0') GTEST_SKIP() << "no STRATA_TEST_DATA";
  for (const char* name : {"strata-small-q4_k_m", "strata-small-iq2_xs"}) {
    const std::string model = absl::StrCat(data, "/models/", name, ".gguf");
    Build(model);
    const ProgramResult verified =
        RunTool("strata/tools/pack_verify",
                {pack_, "--fill", "--device=cpu", "--lend=20", "--swaps=50", "--slots=60%"});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
    ExpectTheSameBytes(model);
  }
}

TEST_F(PackUseTest, APackThatIsNotOfTheModelOrHasNoExpertsIsRefused) {
  const std::string other = WriteSmallModel(folder_, "other", {});
  Build(other);
  const ProgramResult of_other = Generate(Tiny(), {"--pack", pack_});
  EXPECT_EQ(of_other.exit_code, 2);
  EXPECT_THAT(of_other.err, HasSubstr("[pack_mismatch]"));
  Build(Tiny(), {});
  const ProgramResult without = Generate(Tiny(), {"--pack", pack_});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("built without --layout"));
  const ProgramResult none = Generate(Tiny(), {"--pack", folder_ + "/none"});
  EXPECT_EQ(none.exit_code, 2);
  Build(Tiny());
  const ProgramResult over =
      RunTool("strata/generate/generate", {"--model", Tiny(), "--prompt", "x", "--pack", pack_,
                                           "--dump_logits", pack_ + "/experts.bin"});
  EXPECT_EQ(over.exit_code, 1) << over.err;
}

TEST_F(PackUseTest, StagebenchComparesFillsFromAPackWithThoseFromSlices) {
  Build(Tiny());
  const ProgramResult result = RunTool(
      "strata/tools/stagebench", {"--model", Tiny(), "--pack", pack_, "--device=cpu", "--quick",
                                  "--arms=pack,jobs", "--verify", "--json", "--copy_bytes=64KiB"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json output = json::parse(result.out);
  int num_fills = 0, num_jobs = 0;
  for (const json& measurement : output["measurements"]) {
    const std::string experiment = measurement["experiment"];
    num_fills += experiment == "fill from disk (64)" || experiment == "fill from memory (64)";
    num_jobs += experiment == "cache fill (64)";
  }
  EXPECT_EQ(num_fills, 6);
  EXPECT_EQ(num_jobs, 3);
  EXPECT_EQ(RunTool("strata/tools/stagebench", {"--pack", pack_, "--device=cpu"}).exit_code, 1);
}

// ---- Files that change under generate ----

// Runs generate for a long text and changes the file in the middle of it.
int ExitOfGenerateWhile(const std::string& model, const std::string& pack, int ms,
                        const std::function<void()>& change) {
  const pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
    const std::string program = Runfile("strata/generate/generate").value();
    execl(program.c_str(), program.c_str(), "--model", model.c_str(), "--pack", pack.c_str(),
          "--device=cpu", "--prompt=In the beginning", "--max_new=4000", "--ignore_eos",
          "--expert_cache=20%", "--adapt_every=1", nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  change();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(PackUseTest, FilesThatChangeUnderGenerateAreAnErrorOrKeepTheirBytes) {
  Build(Tiny());
  const std::string experts = pack_ + "/experts.bin", kept = folder_ + "/kept";
  fs::copy_file(experts, kept);
  const auto restore = [&] {
    fs::remove(experts);
    fs::copy_file(kept, experts);
  };
  for (const int ms : {20, 60, 150, 300, 600}) {
    EXPECT_THAT(ExitOfGenerateWhile(Tiny(), pack_, ms, [&] { fs::resize_file(experts, 8192); }),
                AnyOf(0, 2))
        << "cut after " << ms;
    restore();
    EXPECT_THAT(ExitOfGenerateWhile(Tiny(), pack_, ms, [&] { Flip(experts, 5000); }), AnyOf(0, 2))
        << "written after " << ms;
    restore();
    EXPECT_THAT(ExitOfGenerateWhile(Tiny(), pack_, ms, [&] { fs::remove(experts); }), AnyOf(0, 2))
        << "removed after " << ms;
    restore();
  }
}

// The text is long enough for the change to come in its middle.
TEST_F(PackUseTest, ACutPackEndsGenerateWithAnErrorThatNamesIt) {
  Build(Tiny());
  const std::string experts = pack_ + "/experts.bin";
  bool ended_with_it = false;
  for (int ms = 100; ms < 3000 && !ended_with_it; ms += 100) {
    const std::string bytes = ReadFile(experts);
    const int exit_code =
        ExitOfGenerateWhile(Tiny(), pack_, ms, [&] { fs::resize_file(experts, 8192); });
    ended_with_it = exit_code == 2;
    fs::remove(experts);
    WriteFile(experts, bytes);
  }
  EXPECT_TRUE(ended_with_it);
}

}  // namespace
}  // namespace strata
