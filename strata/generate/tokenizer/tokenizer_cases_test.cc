// The small files of testdata/cases whose tokenizers are odd or wrong.
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/load_tokenizer.h"

namespace strata {
namespace {

absl::Status Load(const std::string& path) {
  absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(path);
  if (!file.ok()) return file.status();
  return LoadTokenizer(**file).status();
}

TEST(TokenizerCasesTest, JudgesEachFileAsListed) {
  const absl::StatusOr<std::string> folder = Runfile("testdata/cases");
  ASSERT_TRUE(folder.ok()) << folder.status();
  std::ifstream in(*folder + "/cases.json");
  const nlohmann::json list = nlohmann::json::parse(in);
  int num_tried = 0;
  for (const nlohmann::json& entry : list["cases"]) {
    if (entry["group"] != "tokenizer") continue;
    ++num_tried;
    const std::string name = entry["name"];
    const absl::Status status = Load(absl::StrCat(*folder, "/", entry["entry"].get<std::string>()));
    const std::string expected = entry["expect_model"];
    if (expected == "accept") {
      EXPECT_TRUE(status.ok()) << name << ": " << status;
    } else if (expected == "reject" || !status.ok()) {
      EXPECT_EQ(ErrorKind(status), entry["model_reject_kind"]) << name << ": " << status;
    }
  }
  std::cout << num_tried << " tokenizer cases\n";
  EXPECT_GE(num_tried, 9);
}

}  // namespace
}  // namespace strata
