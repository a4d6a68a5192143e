// Every file of testdata/cases: what the reader and the model's description say of it is compared
// with cases.json. The model's part is ModelConfig and ExpertLayout together.
#include "strata/core/gguf/gguf_cases.h"

#include <iostream>
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

namespace strata {
namespace {

using nlohmann::json;

// `status` as cases.json wants it; `expect` and `kind` are the two fields.
void ExpectOutcome(const absl::Status& status, const json& expect, const json& kind) {
  if (expect == "accept") {
    EXPECT_TRUE(status.ok()) << status;
  } else if (!status.ok()) {
    EXPECT_TRUE(IsCaseKind(ErrorKind(status), kind))
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
    if (ours["moe"].is_object()) {
      ours["moe"].erase("blob_bytes");
      ours["moe"].erase("nextn_layers");
    }
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
  const std::vector<GgufCase> cases = AllGgufCases();
  for (const GgufCase& test_case : cases) {
    SCOPED_TRACE(test_case.name());
    const json& facts = test_case.facts;
    const auto file = GgufFile::Open(test_case.path);
    ExpectOutcome(file.status(), facts["expect"], facts["reject_kind"]);
    if (!file.ok()) continue;
    const absl::StatusOr<ExpertLayout> layout = ReadModel(**file);
    ExpectModel(layout.status(), facts);
    if (facts.contains("facts")) ExpectFacts(**file, layout, facts["facts"]);
    EXPECT_TRUE((*file)->CheckUnchanged().ok());
  }
  std::cout << "cases tried: " << cases.size() << std::endl;
  EXPECT_EQ(cases.size(), 122u);
}

// Cases that a reader may accept or refuse: docs/design/gguf.md says what this one does.
TEST(GgufCasesTest, OpenChoicesAreTakenAsDocumented) {
  for (const char* accepted :
       {"alignment_1.gguf", "name_64_bytes.gguf", "dim_zero_first.gguf", "dim_zero_second.gguf",
        "offsets_not_in_order.gguf", "split_keys_wider_integers/m-00001-of-00003.gguf"}) {
    const auto file = GgufFile::Open(GgufCasePath(accepted));
    EXPECT_TRUE(file.ok()) << accepted << ": " << file.status();
  }
  const auto big_endian = GgufFile::Open(GgufCasePath("ok_big_endian_v3.gguf"));
  EXPECT_EQ(ErrorKind(big_endian.status()), "endianness");
  const auto odd_numbers = GgufFile::Open(GgufCasePath("moe_odd_layer_numbers.gguf"));
  ASSERT_TRUE(odd_numbers.ok());
  EXPECT_EQ(ErrorKind(ReadModel(**odd_numbers).status()), "tensor_name");
}

TEST(GgufCasesTest, AnyShardOpensTheWholeModel) {
  for (int number = 1; number <= 5; ++number) {
    const auto file = GgufFile::Open(
        GgufCasePath(absl::StrCat("ok_five_shards/m-0000", number, "-of-00005.gguf")));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->shards().size(), 5u);
    EXPECT_EQ((*file)->tensors().size(), 10u);
    EXPECT_EQ(*(*file)->FindKey("general.name")->AsString(), "sharded");
  }
}

}  // namespace
}  // namespace strata
