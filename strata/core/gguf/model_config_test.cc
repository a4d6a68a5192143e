#include "strata/core/gguf/model_config.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/gguf/architecture.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/model_test_file.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What every architecture must say: 4 blocks of 64 values and 8 heads.
GgufWriter LeastKeys(const std::string& architecture) {
  GgufWriter writer;
  writer.Key("general.architecture", architecture);
  writer.Key(architecture + ".block_count", uint32_t{4});
  writer.Key(architecture + ".context_length", uint32_t{1000});
  writer.Key(architecture + ".embedding_length", uint32_t{64});
  writer.Key(architecture + ".attention.head_count", uint32_t{8});
  writer.Key(architecture + ".attention.layer_norm_rms_epsilon", 0.5f);
  return writer;
}

ModelConfig Config(const GgufWriter& writer) {
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(*OpenWritten(writer));
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

std::string Kind(const GgufWriter& writer) {
  return ErrorKind(ModelConfig::Create(*OpenWritten(writer)).status());
}

TEST(ModelConfigTest, DefaultsFollowFromWhatIsSaid) {
  const ModelConfig config = Config(LeastKeys("llama"));
  EXPECT_EQ(config.architecture->name, "llama");
  EXPECT_EQ(config.trunk_layers(), 4);
  EXPECT_EQ(config.attention.head_count_kv.At(3), 8);
  EXPECT_EQ(config.attention.key_length, 8);
  EXPECT_EQ(config.attention.value_length, 8);
  EXPECT_EQ(config.rope.dimension_count, 8);
  EXPECT_EQ(config.rope.freq_base, 10000);
  EXPECT_EQ(config.rope.scaling_type, "none");
  EXPECT_EQ(config.rope.finetuned, std::nullopt);
  EXPECT_FALSE(config.is_moe());
}

TEST(ModelConfigTest, EveryArchitectureCanBeRead) {
  for (const Architecture& architecture : AllArchitectures()) {
    const ModelConfig config = Config(LeastKeys(std::string(architecture.name)));
    EXPECT_EQ(config.architecture, &architecture);
    EXPECT_EQ(config.rope.kind, architecture.rope);
  }
}

TEST(ModelConfigTest, AKeyBeatsTheArchitecturesDefault) {
  GgufWriter writer = LeastKeys("glm4moe");
  EXPECT_EQ(Config(writer).experts.gating, ExpertGating::kSigmoid);
  EXPECT_FALSE(Config(writer).experts.weights_norm);
  writer.Key("glm4moe.expert_gating_func", uint32_t{0});
  EXPECT_EQ(Config(writer).experts.gating, ExpertGating::kSigmoid);
  writer.Key("glm4moe.expert_weights_norm", true);
  EXPECT_TRUE(Config(writer).experts.weights_norm);
  GgufWriter softmax = LeastKeys("glm4moe");
  softmax.Key("glm4moe.expert_gating_func", uint32_t{1});
  EXPECT_EQ(Config(softmax).experts.gating, ExpertGating::kSoftmax);
}

TEST(ModelConfigTest, ReadsRopeScaling) {
  GgufWriter writer = LeastKeys("gpt-oss");
  writer.Key("gpt-oss.rope.scaling.type", "yarn").Key("gpt-oss.rope.scaling.factor", 32.0f);
  writer.Key("gpt-oss.rope.scaling.original_context_length", uint32_t{4096});
  writer.Key("gpt-oss.rope.scaling.finetuned", false);
  writer.Key("gpt-oss.rope.scaling.yarn_beta_fast", 30.0f);
  const RopeConfig rope = Config(writer).rope;
  EXPECT_EQ(rope.scaling_type, "yarn");
  EXPECT_EQ(rope.scaling_factor, 32);
  EXPECT_EQ(rope.original_context_length, 4096);
  EXPECT_EQ(rope.finetuned, false);
  EXPECT_EQ(rope.yarn_beta_fast, 30);
  EXPECT_EQ(rope.yarn_beta_slow, 1);
}

TEST(ModelConfigTest, HeadsMayDifferByBlock) {
  GgufWriter writer = LeastKeys("lfm2moe");
  writer.Key("lfm2moe.attention.head_count_kv", std::vector<int32_t>{0, 2, 0, 4});
  const ModelConfig config = Config(writer);
  EXPECT_EQ(config.attention.head_count_kv.At(0), 0);
  EXPECT_EQ(config.attention.head_count_kv.At(3), 4);
  EXPECT_EQ(config.attention.head_count_kv.max(), 4);
}

TEST(ModelConfigTest, AnArrayMustCoverEveryBlock) {
  GgufWriter writer = LeastKeys("lfm2moe");
  writer.Key("lfm2moe.attention.head_count_kv", std::vector<int32_t>{0, 2, 0});
  EXPECT_EQ(Kind(writer), "hparams");
}

TEST(ModelConfigTest, FlagsMayBeBoolsOrIntegers) {
  GgufWriter writer = LeastKeys("qwen35moe");
  GgufBytes bools;
  bools.Type(GgufType::kBool).Number(uint64_t{2}).Number(uint8_t{1}).Number(uint8_t{0});
  writer.Key("qwen35moe.attention.recurrent_layers", GgufType::kArray, bools);
  writer.Key("qwen35moe.attention.sliding_window_pattern", uint32_t{6});
  const ModelConfig config = Config(writer);
  EXPECT_THAT(config.recurrent.recurrent_layers, ElementsAre(1, 0));
  EXPECT_THAT(config.attention.sliding_window_pattern, ElementsAre(6));
}

TEST(ModelConfigTest, NextNBlocksAreNotTrunk) {
  GgufWriter writer = LeastKeys("qwen3moe");
  writer.Key("qwen3moe.nextn_predict_layers", uint32_t{1});
  EXPECT_EQ(Config(writer).trunk_layers(), 3);
  GgufWriter all = LeastKeys("qwen3moe");
  all.Key("qwen3moe.nextn_predict_layers", uint32_t{4});
  EXPECT_EQ(Kind(all), "hparams");
}

TEST(ModelConfigTest, AnUnknownArchitectureIsToldTheKnownOnes) {
  const auto config =
      ModelConfig::Create(*OpenWritten(GgufWriter().Key("general.architecture", "new\nmodel")));
  EXPECT_EQ(ErrorKind(config.status()), "unsupported_arch");
  EXPECT_THAT(config.status().message(), HasSubstr("'new\\nmodel', which is not known"));
}

TEST(ModelConfigTest, AMissingKeyIsNamed) {
  GgufWriter writer;
  writer.Key("general.architecture", "llama").Key("llama.block_count", uint32_t{1});
  const auto config = ModelConfig::Create(*OpenWritten(writer));
  EXPECT_EQ(ErrorKind(config.status()), "hparams");
  EXPECT_THAT(config.status().message(), HasSubstr("llama.context_length is missing"));
  EXPECT_EQ(Kind(GgufWriter()), "hparams");
}

TEST(ModelConfigTest, ImpossibleNumbersAreRefused) {
  const auto kind_with = [](const std::string& key, GgufType type, const GgufBytes& value) {
    return Kind(LeastKeys("deepseek2").Key("deepseek2." + key, type, value));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(kind_with("rope.freq_base", GgufType::kF32, GgufBytes().Number(nan)), "hparams");
  EXPECT_EQ(kind_with("rope.freq_base", GgufType::kF32, GgufBytes().Number(0.0f)), "hparams");
  EXPECT_EQ(kind_with("vocab_size", GgufType::kI32, GgufBytes().Number(int32_t{-1})), "hparams");
  EXPECT_EQ(kind_with("vocab_size", GgufType::kU64, GgufBytes().Number(~uint64_t{0})), "hparams");
  EXPECT_EQ(kind_with("attention.key_length", GgufType::kU32, GgufBytes().Number(uint32_t{0})),
            "hparams");
  EXPECT_EQ(kind_with("rope.dimension_count", GgufType::kU32, GgufBytes().Number(uint32_t{3})),
            "hparams");
  EXPECT_EQ(kind_with("expert_gating_func", GgufType::kU32, GgufBytes().Number(uint32_t{5})),
            "hparams");
}

TEST(ModelConfigTest, WrongTypesAreRefused) {
  EXPECT_EQ(Kind(LeastKeys("llama").Key("llama.vocab_size", "many")), "key_type");
  EXPECT_EQ(Kind(LeastKeys("llama").Key("llama.vocab_size", 1.0f)), "key_type");
  EXPECT_EQ(Kind(LeastKeys("llama").Key("llama.rope.freq_base", uint32_t{1})), "key_type");
  EXPECT_EQ(Kind(LeastKeys("llama").Key("llama.rope.scaling.finetuned", uint32_t{1})), "key_type");
  EXPECT_EQ(Kind(LeastKeys("llama").Key("general.name", uint32_t{1})), "key_type");
}

TEST(ModelConfigTest, NoMoreExpertsAreUsedThanThereAre) {
  const auto kind = [](uint32_t count, uint32_t used) {
    GgufWriter writer = LeastKeys("qwen3moe");
    writer.Key("qwen3moe.expert_count", count).Key("qwen3moe.expert_used_count", used);
    return Kind(writer);
  };
  EXPECT_EQ(kind(8, 8), "");
  EXPECT_EQ(kind(8, 9), "moe_counts");
  EXPECT_EQ(kind(8, 0), "moe_counts");
  EXPECT_EQ(kind(0, 1), "moe_counts");
  EXPECT_EQ(kind(0, 0), "");
}

TEST(ModelConfigTest, ExpertGroupsMustDivideTheExperts) {
  const auto kind = [](uint32_t groups, uint32_t used) {
    GgufWriter writer = LeastKeys("deepseek2");
    writer.Key("deepseek2.expert_count", uint32_t{8});
    writer.Key("deepseek2.expert_used_count", uint32_t{2});
    writer.Key("deepseek2.expert_group_count", groups);
    writer.Key("deepseek2.expert_group_used_count", used);
    return Kind(writer);
  };
  EXPECT_EQ(kind(4, 2), "");
  EXPECT_EQ(kind(3, 2), "hparams");
  EXPECT_EQ(kind(4, 5), "hparams");
}

TEST(ModelConfigTest, TheVocabularyIsAsLargeAsTheTokensUnlessSaidOtherwise) {
  GgufWriter writer = LeastKeys("llama");
  writer.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  EXPECT_EQ(Config(writer).vocab_size, 3);
  writer.Key("llama.vocab_size", uint32_t{4});
  EXPECT_EQ(Config(writer).vocab_size, 4);
}

}  // namespace
}  // namespace strata
