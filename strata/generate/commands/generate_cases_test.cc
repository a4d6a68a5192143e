// Every file of testdata/cases that is a model or should be refused as one, through the program:
// `expect_model` and `model_reject_kind` of cases.json.
#include <iostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/gguf/gguf_cases.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

void ExpectOutcome(const nlohmann::json& one, const ProgramResult& result) {
  EXPECT_EQ(result.signal, 0);
  if (result.exit_code == 0) {
    EXPECT_NE(one["expect_model"], "reject");
    EXPECT_EQ(Json::parse(result.out)["ids"].size(), 2);
    return;
  }
  EXPECT_EQ(result.exit_code, 2);
  const Json error = Json::parse(result.out)["error"];
  EXPECT_NE(one["expect_model"], "accept");
  if (one["expect_model"].is_null()) return;
  EXPECT_TRUE(IsCaseKind(error["kind"].get<std::string>(), one["model_reject_kind"])) << error;
}

TEST(GenerateCasesTest, EachModelRunsOrIsRefusedForItsReason) {
  const std::string ids = TestFile("ids");
  WriteFile(ids, "3 1 2");
  const std::vector<GgufCase> cases = AllGgufCases();
  for (const GgufCase& one : cases) {
    SCOPED_TRACE(one.name() + ": " + one.facts["wrong"].get<std::string>());
    const ProgramResult result = RunGenerate(
        {"--model=" + one.path, "--tokens_file=" + ids, "--max_new=2", "--ignore_eos", "--json"});
    SCOPED_TRACE(result.err);
    ExpectOutcome(one.facts, result);
    EXPECT_LE(result.peak_kib, one.facts["limits"]["rss_mib"].get<int64_t>() * 1024);
  }
  std::cout << "cases tried: " << cases.size() << std::endl;
  EXPECT_EQ(cases.size(), 122u);
}

}  // namespace
}  // namespace strata
