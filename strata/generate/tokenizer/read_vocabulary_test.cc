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
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/core/log_capture.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<Vocabulary> Read(const GgufWriter& writer) {
  ScratchFile scratch;
  scratch.Set(writer.Build());
  absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(scratch.path());
  EXPECT_TRUE(file.ok()) << file.status();
  return ReadVocabulary(**file);
}

template <typename T>
GgufBytes Value(T value) {
  return GgufBytes().Number(value);
}

// `type` is that of T.
template <typename T>
GgufBytes Array(GgufType type, const std::vector<T>& values) {
  GgufBytes bytes;
  bytes.Type(type).Number(uint64_t{values.size()});
  for (const T value : values) bytes.Number(value);
  return bytes;
}

GgufWriter BytePairKeys() {
  GgufWriter writer;
  writer.Key("tokenizer.ggml.model", "gpt2");
  writer.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
  writer.Key("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  return writer;
}

TEST(ReadVocabularyTest, ReadsEveryKeyItKnows) {
  GgufWriter writer = BytePairKeys();
  writer.Key("tokenizer.ggml.pre", "qwen2");
  writer.Key("tokenizer.ggml.token_type", GgufType::kArray,
             Array<int32_t>(GgufType::kI32, {1, 3, 4}));
  writer.Key("tokenizer.ggml.scores", GgufType::kArray, Array<float>(GgufType::kF32, {0, -1.5, 2}));
  writer.Key("tokenizer.ggml.eos_token_id", GgufType::kU32, Value<uint32_t>(2));
  writer.Key("tokenizer.ggml.seperator_token_id", GgufType::kU16, Value<uint16_t>(1));
  writer.Key("tokenizer.ggml.add_bos_token", false);
  writer.Key("tokenizer.ggml.add_space_prefix", true);
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
  GgufWriter writer;
  EXPECT_EQ(ErrorKind(Read(writer).status()), "tokenizer_missing");
  writer.Key("tokenizer.ggml.model", "gpt2");
  EXPECT_THAT(std::string(Read(writer).status().message()), HasSubstr("tokenizer.ggml.tokens"));
  writer.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  const absl::Status status = Read(writer).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_missing");
  EXPECT_THAT(std::string(status.message()), HasSubstr("tokenizer.ggml.merges"));
}

TEST(ReadVocabularyTest, NamesATokenizerOfAnotherKind) {
  GgufWriter writer;
  writer.Key("tokenizer.ggml.model", "t5\x01");
  const absl::Status status = Read(writer).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_model");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"t5\\x01\""));
}

TEST(ReadVocabularyTest, RefusesKeysOfWrongTypesByKind) {
  struct Case {
    const char* kind;
    std::function<void(GgufWriter&)> add;
  };
  const std::vector<Case> cases = {
      {"key_type",
       [](auto& w) { w.Key("tokenizer.ggml.pre", GgufType::kU32, Value<uint32_t>(1)); }},
      {"key_type", [](auto& w) { w.Key("tokenizer.ggml.bos_token_id", "1"); }},
      {"key_type",
       [](auto& w) { w.Key("tokenizer.ggml.bos_token_id", GgufType::kF32, Value<float>(0)); }},
      {"key_type",
       [](auto& w) { w.Key("tokenizer.ggml.add_bos_token", GgufType::kU8, Value<uint8_t>(1)); }},
      {"tokenizer_ids",
       [](auto& w) {
         w.Key("tokenizer.ggml.bos_token_id", GgufType::kI32, Value<int32_t>(uint32_t(-1)));
       }},
      {"tokenizer_ids",
       [](auto& w) {
         w.Key("tokenizer.ggml.bos_token_id", GgufType::kU64, Value<uint64_t>(~uint64_t{0}));
       }},
      {"tokenizer_types", [](auto& w) { w.Key("tokenizer.ggml.scores", "0 0 0"); }},
      {"tokenizer_types",
       [](auto& w) {
         w.Key("tokenizer.ggml.scores", GgufType::kArray, Array<double>(GgufType::kF64, {0, 0, 0}));
       }},
      {"tokenizer_types",
       [](auto& w) {
         w.Key("tokenizer.ggml.token_type", GgufType::kArray,
               Array<uint8_t>(GgufType::kU8, {1, 1, 1}));
       }},
      {"tokenizer_types",
       [](auto& w) {
         w.Key("tokenizer.ggml.token_type", GgufType::kArray,
               Array<int32_t>(GgufType::kI32, {1, 7, 1}));
       }},
      {"",
       [](auto& w) {
         w.Key("tokenizer.ggml.token_type", GgufType::kArray,
               Array<int64_t>(GgufType::kI64, {1, 6, 0}));
       }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    GgufWriter writer = BytePairKeys();
    cases[i].add(writer);
    EXPECT_EQ(ErrorKind(Read(writer).status()), cases[i].kind) << i;
  }
}

TEST(ReadVocabularyTest, RefusesTokensAndMergesThatAreNoTexts) {
  GgufWriter tokens;
  tokens.Key("tokenizer.ggml.model", "llama");
  tokens.Key("tokenizer.ggml.tokens", GgufType::kArray, Array<uint32_t>(GgufType::kU32, {1, 2}));
  const absl::Status status = Read(tokens).status();
  EXPECT_EQ(ErrorKind(status), "tokenizer_types");
  EXPECT_THAT(std::string(status.message()), HasSubstr("an array of u32"));

  GgufWriter merges;
  merges.Key("tokenizer.ggml.model", "gpt2");
  merges.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  merges.Key("tokenizer.ggml.merges", GgufType::kU32, Value<uint32_t>(1));
  EXPECT_EQ(ErrorKind(Read(merges).status()), "tokenizer_types");
}

TEST(ReadVocabularyTest, ByteTokensTypedAsNormalAreKnownByTheirTexts) {
  GgufWriter writer;
  writer.Key("tokenizer.ggml.model", "llama");
  writer.Key("tokenizer.ggml.tokens", std::vector<std::string>{"<0x0A>", "<0x41>", "<0x41>", "a"});
  writer.Key("tokenizer.ggml.token_type", GgufType::kArray,
             Array<int32_t>(GgufType::kI32, {1, 1, 6, 1}));
  const LogCapture log;
  const absl::StatusOr<Vocabulary> vocabulary = Read(writer);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_THAT(vocabulary->types, ElementsAre(TokenType::kByte, TokenType::kNormal, TokenType::kByte,
                                             TokenType::kNormal))
      << "a byte that has a token of its type keeps that one";
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_THAT(log.warnings()[0], HasSubstr("1 byte tokens are typed as normal"));
}

TEST(ReadVocabularyTest, AnIdThatNothingUsesMayBeNone) {
  for (const char* name : {"padding", "mask", "seperator", "fim_pre", "fim_suf", "fim_mid"}) {
    GgufWriter writer = BytePairKeys();
    writer.Key("tokenizer.ggml.pre", "qwen2");
    writer.Key(std::string("tokenizer.ggml.") + name + "_token_id", GgufType::kU32,
               Value<uint32_t>(~uint32_t{0}));
    const LogCapture log;
    EXPECT_TRUE(Read(writer).ok()) << name;
    ASSERT_EQ(log.warnings().size(), 1u) << name;
    EXPECT_THAT(log.warnings()[0], HasSubstr("is no token of the vocabulary"));
  }
}

}  // namespace
}  // namespace strata
