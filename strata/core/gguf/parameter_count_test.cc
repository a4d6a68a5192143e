#include "strata/core/gguf/parameter_count.h"

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_sample_files.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/model_test_file.h"

namespace strata {
namespace {

TEST(ParameterCountTest, ActiveLeavesOutUnchosenExpertsNextNAndLookedUpTables) {
  // One of four experts of 3 x 8 x 8 weights runs; a block also has a norm of 8 and a router of 32.
  GgufWriter writer = MoeKeys(4, 2);
  writer.Key("qwen3moe.nextn_predict_layers", uint32_t{1});
  writer.Tensor("token_embd.weight", BlockType::kF32, {8, 10});
  writer.Tensor("per_layer_token_embd.weight", BlockType::kF32, {8, 100});
  AddMoeBlock(0, 4, "merged", writer);
  AddMoeBlock(1, 4, "merged", writer);
  writer.Tensor("blk.0.ffn_gate_exps.scale", BlockType::kF32, {4});
  const auto file = OpenWritten(writer);
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(*file);
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(*file, *config);
  ASSERT_TRUE(layout.ok()) << layout.status();
  const ParameterCount count = CountParameters(*file, *config, *layout);
  const int64_t block = 8 + 32 + 4 * 192;
  EXPECT_EQ(count.total, 80 + 800 + 2 * block);
  EXPECT_EQ(count.nextn, block);
  EXPECT_EQ(count.active, 80 + 8 + 32 + 192);
}

}  // namespace
}  // namespace strata
