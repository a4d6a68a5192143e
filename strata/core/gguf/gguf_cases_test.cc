// Every file of testdata/cases: what the reader and the model's description say of it is compared
// with cases.json, whose schema is:
//   entry         the path to open
//   expect        "accept": opens, with the facts; "reject": an error of reject_kind; "either"
//   expect_model  the same for ModelConfig and ExpertLayout together; null: only a clean end
//   facts         what gguf_json.h prints, with sha256 of every tensor's bytes

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_json.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/sha256.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using bazel::tools::cpp::runfiles::Runfiles;
using nlohmann::json;

std::string CasesFolder() {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::CreateForTest(&error));
  EXPECT_NE(runfiles, nullptr) << error;
  return runfiles->Rlocation("strata/testdata/cases");
}

// Where the case's entry can be opened. One case has a link to nothing, which Bazel does not keep:
// it is made anew in a folder of the test.
std::string EntryPath(const std::string& folder, const json& test_case) {
  const std::string entry = test_case["entry"];
  if (test_case["name"] != "shard_link_to_nothing") return absl::StrCat(folder, "/", entry);
  const fs::path copy = fs::path(testing::TempDir()) / "shard_link_to_nothing";
  fs::remove_all(copy);
  fs::create_directories(copy);
  fs::copy(absl::StrCat(folder, "/", entry), copy / "m-00001-of-00002.gguf");
  fs::create_symlink("blobs/gone", copy / "m-00002-of-00002.gguf");
  return copy / "m-00001-of-00002.gguf";
}

// True when `kind` is `expected`, or one of them where it is a list.
bool IsKind(const std::string& kind, const json& expected) {
  if (expected.is_string()) return kind == expected;
  for (const json& one : expected) {
    if (kind == one) return true;
  }
  return false;
}

// `status` as cases.json wants it; `expect` and `kind` are the two fields.
void ExpectOutcome(const absl::Status& status, const json& expect, const json& kind) {
  if (expect == "accept") {
    EXPECT_TRUE(status.ok()) << status;
  } else if (!status.ok()) {
    EXPECT_TRUE(IsKind(ErrorKind(status), kind))
        << status << " is " << ErrorKind(status) << ", not " << kind;
    EXPECT_NE(ErrorFile(status), "");
  } else {
    EXPECT_NE(expect, "reject") << "no error";
  }
}

// `facts` but for what is a note to the reader.
void ExpectFacts(const GgufFile& file, const absl::StatusOr<ExpertLayout>& layout,
                 const json& facts) {
  GgufJsonOptions options;
  options.sha256 = [&](const GgufTensor& tensor) { return Sha256Hex(file.Data(tensor)); };
  json ours = json::parse(FileJson(file, options).dump());
  if (layout.ok()) {
    ours["moe"] = json::parse(MoeJson(*layout).dump());
    if (ours["moe"].is_object()) ours["moe"].erase("blob_bytes");
  }
  for (const auto& [field, value] : facts.items()) {
    if (field == "note" || field == "tensor_values") continue;
    json expected = value;
    if (field == "moe") expected.erase("note");
    EXPECT_TRUE(ours[field] == expected) << field << ": " << ours[field].dump().substr(0, 2000)
                                         << "\nis not " << expected.dump().substr(0, 2000);
  }
}

absl::StatusOr<ExpertLayout> ReadModel(const GgufFile& file) {
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(file);
  if (!config.ok()) return config.status();
  return ExpertLayout::Create(file, *config);
}

void ExpectModel(const absl::Status& model, const json& test_case) {
  const json& expect = test_case["expect_model"];
  const json& kind = test_case["model_reject_kind"];
  if (expect.is_null()) return;
  // The vocabulary is not read here: a case with a broken one is a sound model otherwise.
  if (kind.is_string() && absl::StartsWith(kind.get<std::string>(), "tokenizer_")) {
    EXPECT_TRUE(model.ok()) << model;
    return;
  }
  ExpectOutcome(model, expect, kind);
}

TEST(GgufCasesTest, EveryCaseIsAnsweredRight) {
  const std::string folder = CasesFolder();
  std::ifstream stream(absl::StrCat(folder, "/cases.json"));
  const json cases = json::parse(stream);
  int tried = 0;
  for (const json& test_case : cases["cases"]) {
    SCOPED_TRACE(test_case["name"]);
    ++tried;
    const auto file = GgufFile::Open(EntryPath(folder, test_case));
    ExpectOutcome(file.status(), test_case["expect"], test_case["reject_kind"]);
    if (!file.ok()) continue;
    const absl::StatusOr<ExpertLayout> layout = ReadModel(**file);
    ExpectModel(layout.status(), test_case);
    if (test_case.contains("facts")) ExpectFacts(**file, layout, test_case["facts"]);
    EXPECT_TRUE((*file)->CheckUnchanged().ok());
  }
  std::cout << "cases tried: " << tried << std::endl;
  EXPECT_EQ(tried, cases["count"]);
}

// Cases that a reader may accept or refuse: docs/design/gguf.md says what this one does.
TEST(GgufCasesTest, OpenChoicesAreTakenAsDocumented) {
  const std::string folder = CasesFolder();
  for (const char* accepted :
       {"alignment_1.gguf", "name_64_bytes.gguf", "dim_zero_first.gguf", "dim_zero_second.gguf",
        "offsets_not_in_order.gguf", "split_keys_wider_integers/m-00001-of-00003.gguf"}) {
    const auto file = GgufFile::Open(absl::StrCat(folder, "/", accepted));
    EXPECT_TRUE(file.ok()) << accepted << ": " << file.status();
  }
  const auto big_endian = GgufFile::Open(absl::StrCat(folder, "/ok_big_endian_v3.gguf"));
  EXPECT_EQ(ErrorKind(big_endian.status()), "endianness");
  const auto odd_numbers = GgufFile::Open(absl::StrCat(folder, "/moe_odd_layer_numbers.gguf"));
  ASSERT_TRUE(odd_numbers.ok());
  EXPECT_EQ(ErrorKind(ReadModel(**odd_numbers).status()), "tensor_name");
}

TEST(GgufCasesTest, AnyShardOpensTheWholeModel) {
  const std::string folder = CasesFolder();
  for (int number = 1; number <= 5; ++number) {
    const auto file =
        GgufFile::Open(absl::StrCat(folder, "/ok_five_shards/m-0000", number, "-of-00005.gguf"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->shards().size(), 5u);
    EXPECT_EQ((*file)->tensors().size(), 10u);
    EXPECT_EQ(*(*file)->FindKey("general.name")->AsString(), "sharded");
  }
}

}  // namespace
}  // namespace strata
