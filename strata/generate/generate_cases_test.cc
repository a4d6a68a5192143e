// Every file of testdata/cases that is a model or should be refused as one, through the program:
// `expect_model` and `model_reject_kind` of cases.json.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

// One case has a link to nothing, which Bazel does not keep: it is made anew.
std::string EntryOf(const Json& one, const std::string& folder) {
  const std::string entry = folder + "/" + one["entry"].get<std::string>();
  if (one["name"] != "shard_link_to_nothing") return entry;
  const fs::path copy = TestFile("shard_link_to_nothing");
  fs::remove_all(copy);
  fs::create_directories(copy);
  fs::copy(entry, copy / "m-00001-of-00002.gguf");
  fs::create_symlink("blobs/gone", copy / "m-00002-of-00002.gguf");
  return copy / "m-00001-of-00002.gguf";
}

bool IsOneOf(const Json& kinds, const std::string& kind) {
  if (kinds.is_string()) return kinds == kind;
  for (const Json& one : kinds) {
    if (one == kind) return true;
  }
  return false;
}

void ExpectOutcome(const Json& one, const ProgramResult& result) {
  EXPECT_EQ(result.signal, 0);
  if (result.exit_code == 0) {
    EXPECT_NE(one["expect_model"], "reject");
    EXPECT_EQ(Json::parse(result.out)["ids"].size(), 2);
    return;
  }
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(one["expect_model"], "accept");
  const Json error = Json::parse(result.out)["error"];
  if (one["expect_model"].is_null()) return;
  EXPECT_TRUE(IsOneOf(one["model_reject_kind"], error["kind"])) << error;
}

TEST(GenerateCasesTest, EachModelRunsOrIsRefusedForItsReason) {
  const std::string folder = Runfile("testdata/cases").value();
  const Json cases = Json::parse(std::ifstream(folder + "/cases.json"));
  const std::string ids = TestFile("ids");
  WriteFile(ids, "3 1 2");
  int num_tried = 0;
  for (const Json& one : cases["cases"]) {
    SCOPED_TRACE(one["name"].get<std::string>() + ": " + one["wrong"].get<std::string>());
    const ProgramResult result =
        RunGenerate({"--model=" + EntryOf(one, folder), "--tokens_file=" + ids, "--max_new=2",
                     "--ignore_eos", "--json"});
    SCOPED_TRACE(result.err);
    ExpectOutcome(one, result);
    EXPECT_LE(result.peak_kib, one["limits"]["rss_mib"].get<int64_t>() * 1024);
    ++num_tried;
  }
  std::cout << "cases tried: " << num_tried << std::endl;
  EXPECT_EQ(num_tried, cases["count"]);
}

}  // namespace
}  // namespace strata
