#include "strata/generate/tokenizer/read_vocabulary.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/gguf_keys_writer.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<Vocabulary> Read(const GgufKeysWriter& writer) {
  absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(writer.WriteFile("vocab.gguf"));
  EXPECT_TRUE(file.ok()) << file.status();
  return ReadVocabulary(**file);
}

GgufKeysWriter BytePairKeys() {
  GgufKeysWriter writer;
  writer.AddText("tokenizer.ggml.model", "gpt2");
  writer.AddTexts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  writer.AddTexts("tokenizer.ggml.merges", {"a b"});
  return writer;
}

TEST(ReadVocabularyTest, ReadsEveryKeyItKnows) {
  GgufKeysWriter writer = BytePairKeys();
  writer.AddText("tokenizer.ggml.pre", "qwen2");
  writer.AddNumbers("tokenizer.ggml.token_type", GgufType::kI32, {1, 3, 4});
  writer.AddFloats("tokenizer.ggml.scores", {0, -1.5, 2});
  writer.AddNumber("tokenizer.ggml.eos_token_id", GgufType::kU32, 2);
  writer.AddNumber("tokenizer.ggml.seperator_token_id", GgufType::kU16, 1);
  writer.AddFlag("tokenizer.ggml.add_bos_token", false);
  writer.AddFlag("tokenizer.ggml.add_space_prefix", true);
  const absl::StatusOr<Vocabulary> vocabulary = Read(writer);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->model, Vocabulary::Model::kBytePairs);
  EXPECT_EQ(vocabulary->pre, "qwen2");
  EXPECT_THAT(vocabulary->tokens, ElementsAre("a", "b", "ab"));
  EXPECT_THAT(vocabulary->types,
              ElementsAre(TokenType::kNormal, TokenType::kControl, TokenType::kUserDefined));
  EXPECT_THAT(vocabulary->scores, ElementsAre(0, -1.5, 2));
  EXPECT_THAT(vocabulary->merges, ElementsAre("a b"));
  EXPECT_EQ(vocabulary->ids.eos, 2);
  EXPECT_EQ(vocabulary->ids.separator, 1);
  EXPECT_EQ(vocabulary->ids.bos, std::nullopt);
  EXPECT_EQ(vocabulary->add_bos, false);
  EXPECT_EQ(vocabulary->add_eos, std::nullopt);
  EXPECT_EQ(vocabulary->add_space_prefix, true);
}

TEST(ReadVocabularyTest, TakesADefaultSplitterWhereTheFileNamesNone) {
  const absl::StatusOr<Vocabulary> vocabulary = Read(BytePairKeys());
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->pre, "default");
}

TEST(ReadVocabularyTest, SaysWhatIsMissing) {
  GgufKeysWriter writer;
  EXPECT_EQ(ErrorKind(Read(writer).status()), "tokenizer_missing");
  writer.AddText("tokenizer.ggml.model", "gpt2");
  EXPECT_THAT(std::string(Read(writer).status().message()), HasSubstr("tokenizer.ggml.tokens"));
  writer.AddTexts("tokenizer.ggml.tokens", {"a"});
  const absl::Status status = Read(writer).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_missing");
  EXPECT_THAT(std::string(status.message()), HasSubstr("tokenizer.ggml.merges"));
}

TEST(ReadVocabularyTest, NamesATokenizerOfAnotherKind) {
  GgufKeysWriter writer;
  writer.AddText("tokenizer.ggml.model", "t5\x01");
  const absl::Status status = Read(writer).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_model");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"t5\\x01\""));
}

TEST(ReadVocabularyTest, RefusesKeysOfWrongTypesByKind) {
  struct Case {
    const char* kind;
    std::function<void(GgufKeysWriter&)> add;
  };
  const std::vector<Case> cases = {
      {"key_type", [](auto& w) { w.AddNumber("tokenizer.ggml.pre", GgufType::kU32, 1); }},
      {"key_type", [](auto& w) { w.AddText("tokenizer.ggml.bos_token_id", "1"); }},
      {"key_type", [](auto& w) { w.AddNumber("tokenizer.ggml.bos_token_id", GgufType::kF32, 0); }},
      {"key_type", [](auto& w) { w.AddNumber("tokenizer.ggml.add_bos_token", GgufType::kU8, 1); }},
      {"tokenizer_ids",
       [](auto& w) { w.AddNumber("tokenizer.ggml.bos_token_id", GgufType::kI32, uint32_t(-1)); }},
      {"tokenizer_ids",
       [](auto& w) { w.AddNumber("tokenizer.ggml.bos_token_id", GgufType::kU64, ~uint64_t{0}); }},
      {"tokenizer_types", [](auto& w) { w.AddText("tokenizer.ggml.scores", "0 0 0"); }},
      {"tokenizer_types",
       [](auto& w) {
         w.AddNumbers("tokenizer.ggml.scores", GgufType::kF64, {0, 0, 0});
       }},
      {"tokenizer_types",
       [](auto& w) {
         w.AddNumbers("tokenizer.ggml.token_type", GgufType::kU8, {1, 1, 1});
       }},
      {"tokenizer_types",
       [](auto& w) {
         w.AddNumbers("tokenizer.ggml.token_type", GgufType::kI32, {1, 7, 1});
       }},
      {"",
       [](auto& w) {
         w.AddNumbers("tokenizer.ggml.token_type", GgufType::kI64, {1, 6, 0});
       }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    GgufKeysWriter writer = BytePairKeys();
    cases[i].add(writer);
    EXPECT_EQ(ErrorKind(Read(writer).status()), cases[i].kind) << i;
  }
}

TEST(ReadVocabularyTest, RefusesTokensAndMergesThatAreNoTexts) {
  GgufKeysWriter tokens;
  tokens.AddText("tokenizer.ggml.model", "llama");
  tokens.AddNumbers("tokenizer.ggml.tokens", GgufType::kU32, {1, 2});
  const absl::Status status = Read(tokens).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_types");
  EXPECT_THAT(std::string(status.message()), HasSubstr("an array of u32"));

  GgufKeysWriter merges;
  merges.AddText("tokenizer.ggml.model", "gpt2");
  merges.AddTexts("tokenizer.ggml.tokens", {"a"});
  merges.AddNumber("tokenizer.ggml.merges", GgufType::kU32, 1);
  EXPECT_EQ(ErrorKind(Read(merges).status()), "tokenizer_types");
}

}  // namespace
}  // namespace strata
