// profile_build simulate and report as programs, on runs of generate.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Strings = std::vector<std::string>;

constexpr char kPrompt[] =
    "And the LORD spake unto Moses, saying, Speak unto the children of Israel, and say unto them, "
    "When either man or woman shall separate themselves to vow a vow of a Nazarite.";

ProgramResult RunTool(Strings arguments) {
  arguments.insert(arguments.begin(), Runfile("strata/tools/profile_build").value());
  return RunProgram(arguments);
}

Json Parse(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

class SimulateTest : public ::testing::Test {
 protected:
  SimulateTest()
      : folder_(fs::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ / name; }
  // Runs generate, which leaves its trace; returns its figures.
  Json Generate(const std::string& model, const std::string& trace, const Strings& flags) const {
    Strings command = {Runfile("strata/generate/generate").value(),
                       "--model",
                       model,
                       "--prompt",
                       kPrompt,
                       "--max_new",
                       "400",
                       "--ignore_eos",
                       "--json",
                       "--dump_routing",
                       trace};
    command.insert(command.end(), flags.begin(), flags.end());
    const ProgramResult result = RunProgram(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Parse(result.out)["stats"];
  }
  std::string Tiny() const { return Runfile("testdata/strata-tiny-q4_k_m.gguf").value(); }
  // A trace of the tiny model without a cache.
  std::string PlainTrace() const {
    Generate(Tiny(), Path("plain.trace"), {"--expert_cache", "0", "--prompt_batch", "1"});
    return Path("plain.trace");
  }

  const fs::path folder_;
};

// A setting of a run, and how it differs from the engine's own figures.
struct Setting {
  std::string cache;
  int swaps = 0;
  int every = 0;
  int batch = 0;
  std::string prefill;
};

TEST_F(SimulateTest, CountsRecordedRunsAsTheEngineDid) {
  Strings models = {Tiny()};
  const char* const data = std::getenv("STRATA_TEST_DATA");
  const std::string small =
      absl::StrCat(data == nullptr ? "" : data, "/models/strata-small-q4_k_m.gguf");
  if (fs::exists(small)) {
    models.push_back(small);
  } else {
    std::cout << "STRATA_TEST_DATA has no strata-small-q4_k_m.gguf: the tiny model alone"
              << std::endl;
  }
  int num_settings = 0;
  double worst = 0;
  for (const std::string& model : models) {
    for (const Setting& setting : std::vector<Setting>{{"10%", 0, 4, 1, "on"},
                                                       {"10%", 32, 4, 1, "on"},
                                                       {"10%", 4, 1, 1, "on"},
                                                       {"25%", 0, 4, 1, "on"},
                                                       {"25%", 32, 4, 1, "on"},
                                                       {"25%", 4, 2, 1, "on"},
                                                       {"25%", 32, 1, 8, "on"},
                                                       {"25%", 32, 4, 64, "auto"},
                                                       {"50%", 0, 4, 1, "on"},
                                                       {"50%", 32, 4, 1, "on"},
                                                       {"50%", 8, 2, 16, "off"},
                                                       {"50%", 32, 8, 64, "auto"},
                                                       {"75%", 32, 4, 1, "on"},
                                                       {"100%", 32, 4, 1, "on"}}) {
      const std::string trace = Path("recorded.trace");
      const std::string name =
          absl::StrCat(model, " ", setting.cache, " ", setting.swaps, " ", setting.every, " ",
                       setting.batch, " ", setting.prefill);
      const Json stats =
          Generate(model, trace,
                   {"--expert_cache", setting.cache, "--adapt_swaps", absl::StrCat(setting.swaps),
                    "--adapt_every", absl::StrCat(setting.every), "--prompt_batch",
                    absl::StrCat(setting.batch), "--prefill", setting.prefill});
      const ProgramResult result = RunTool({"simulate", "--record", "--json", trace});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      const Json run = Parse(result.out)["runs"][0];
      EXPECT_EQ(run["routed"], stats["routed"]) << name;
      EXPECT_EQ(run["hits"], stats["hits"]) << name;
      int64_t misses = 0, elsewhere = 0;
      for (const auto& [path, count] : stats["misses"].items()) misses += count.get<int64_t>();
      for (const auto& [form, bytes] : stats["bytes"].items()) {
        if (form != "slot") elsewhere += bytes.get<int64_t>();
      }
      EXPECT_EQ(run["misses"], misses) << name;
      EXPECT_EQ(run["bytes"]["slot"], stats["bytes"]["slot"]) << name;
      EXPECT_EQ(run["bytes"]["elsewhere"], elsewhere) << name;
      EXPECT_EQ(run["swaps"], stats["swaps"]) << name;
      EXPECT_EQ(run["swap_bytes"], stats["adapt"]["bytes"]) << name;
      ++num_settings;
      // One token a step, filled before the first: what the routing alone predicts.
      if (setting.batch != 1) continue;
      const double difference = run["difference_points"].get<double>();
      std::cout << name << ": predicted " << difference << " points off" << std::endl;
      EXPECT_LT(std::abs(difference), 1) << name;
      worst = std::max(worst, std::abs(difference));
    }
  }
  std::cout << num_settings << " settings; predictions at most " << worst << " points off"
            << std::endl;
}

TEST_F(SimulateTest, ComparesPoliciesOverSizes) {
  const std::string trace = PlainTrace();
  const ProgramResult result = RunTool({"simulate", "--json", "--sizes", "25%,32", "--start",
                                        "profile", "--policies", "lru,learned,belady", trace});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = Parse(result.out);
  ASSERT_EQ(json["sizes"].size(), 2u);
  EXPECT_EQ(json["sizes"][0]["slots"], 16);
  EXPECT_EQ(json["sizes"][1]["slots"], 32);
  for (const Json& size : json["sizes"]) {
    ASSERT_EQ(size["policies"].size(), 3u);
    for (const Json& policy : size["policies"]) {
      EXPECT_GE(policy["times_optimum"].get<double>(), 1);
      EXPECT_EQ(policy["hits"].get<int>() + policy["misses"].get<int>(),
                json["tokens"].get<int>() * 4 * 2);
    }
  }
  const ProgramResult table = RunTool({"simulate", "--trace", trace, "--window", "4"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("x optimum"));
}

TEST_F(SimulateTest, RefusesWhatMakesNoSense) {
  const std::string trace = PlainTrace();
  const auto expect = [&](int code, Strings arguments) {
    const ProgramResult result = RunTool(arguments);
    EXPECT_EQ(result.exit_code, code) << absl::StrCat(arguments[1], ": ", result.err);
  };
  expect(1, {"simulate"});
  expect(1, {"simulate", "--policies", "lru,best", trace});
  expect(1, {"simulate", "--sizes", "half", trace});
  expect(1, {"simulate", "--admission", "now", trace});
  expect(1, {"simulate", "--start", "warm", trace});
  expect(1, {"simulate", "--window", "9", trace});
  expect(1, {"simulate", "--offered", "101", trace});
  expect(1, {"simulate", "--out", Path("x"), trace});
  expect(1, {"simulate", "--record"});
  expect(1, {"report", trace});
  expect(1, {"report", "--out", trace, trace});
  expect(1, {"merge", "--sizes", "3", trace});
  expect(2, {"simulate", Tiny()});
  expect(2, {"simulate", "--machine", Tiny(), trace});
  expect(2, {"simulate", "--profile", trace, trace});
}

TEST_F(SimulateTest, DrawsAPageThatNeedsNoOther) {
  const ProgramResult result =
      RunTool({"report", "--out", Path("page.html"), "--cache", "33%", PlainTrace()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("With a cache of 33%"));
  std::ifstream file(Path("page.html"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(page, HasSubstr("With a cache of 33%"));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  for (const char* const outside : {"src=", "href=", "@import", "url(", "fetch("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  // The data of the page is JSON that holds every size.
  constexpr char kOpening[] = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(kOpening) + sizeof kOpening - 1;
  const Json data = Parse(page.substr(begin, page.find("</script>", begin) - begin));
  ASSERT_TRUE(data.is_object());
  EXPECT_EQ(data["sizes"].size(), 13u);
  EXPECT_EQ(data["sizes"][data["chosen"].get<int>()]["size"], "33%");
  EXPECT_EQ(data["heat"].size(), 4u);
  EXPECT_EQ(data["heat"][0].size(), 16u);
}

}  // namespace
}  // namespace strata
