#include "strata/cache/experts/model_identity.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/little_endian.h"

namespace strata {
namespace {

absl::StatusOr<ModelIdentity> IdentityOf(const std::string& path) {
  const auto file = GgufFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  const auto config = ModelConfig::Create(**file);
  EXPECT_TRUE(config.ok()) << config.status();
  const auto layout = ExpertLayout::Create(**file, *config);
  EXPECT_TRUE(layout.ok()) << layout.status();
  return ModelIdentity::Of(**file, *layout);
}

// A model of one MoE layer, changed in one way.
struct Variant {
  std::string name = "m";
  std::string router = std::string(2 * 32 * 4, 'r');
  BlockType expert_type = BlockType::kF32;
  char expert_bytes = 'e';
  bool reversed = false;  // The order of tensors in the file.
  bool has_bias = false;
  uint32_t num_experts = 2;
};

absl::StatusOr<ModelIdentity> IdentityOf(const Variant& variant) {
  GgufWriter writer;
  writer.Key("general.architecture", "qwen3moe")
      .Key("general.name", variant.name)
      .Key("qwen3moe.block_count", 1u)
      .Key("qwen3moe.context_length", 64u)
      .Key("qwen3moe.embedding_length", 32u)
      .Key("qwen3moe.feed_forward_length", 32u)
      .Key("qwen3moe.attention.head_count", 1u)
      .Key("qwen3moe.attention.layer_norm_rms_epsilon", 1e-6f)
      .Key("qwen3moe.expert_count", variant.num_experts)
      .Key("qwen3moe.expert_used_count", 1u);
  const BlockTypeInfo& info = InfoOf(variant.expert_type);
  const std::string expert_bytes(
      32 * 32 * variant.num_experts / info.block_weights * info.block_bytes, variant.expert_bytes);
  std::vector<std::function<void()>> tensors;
  tensors.push_back([&] {
    writer.Tensor("blk.0.ffn_gate_inp.weight", BlockType::kF32, {32, variant.num_experts},
                  variant.router);
  });
  if (variant.has_bias) {
    tensors.push_back([&] {
      writer.Tensor("blk.0.exp_probs_b.bias", BlockType::kF32, {variant.num_experts},
                    std::string(4 * variant.num_experts, 'b'));
    });
  }
  for (const char* role : {"gate", "up", "down"}) {
    tensors.push_back([&, role] {
      writer.Tensor(absl::StrCat("blk.0.ffn_", role, "_exps.weight"), variant.expert_type,
                    {32, 32, variant.num_experts}, expert_bytes);
    });
  }
  if (variant.reversed) std::reverse(tensors.begin(), tensors.end());
  for (const std::function<void()>& add : tensors) add();
  const std::string path = testing::TempDir() + "/variant.gguf";
  writer.WriteTo(path);
  return IdentityOf(path);
}

TEST(ModelIdentityTest, IsThatOfRoutersAndTheLayoutOfExperts) {
  const auto model = IdentityOf(Variant());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->geometry.Describe(), "1 layers (0 to 0) of 2 experts, 1 used");
  std::string other_router = Variant().router;
  other_router[100] = 'x';
  const auto routers = IdentityOf(Variant{.router = other_router});
  EXPECT_NE(routers->routers, model->routers);
  EXPECT_EQ(routers->experts, model->experts);
  const auto biased = IdentityOf(Variant{.has_bias = true});
  EXPECT_NE(biased->routers, model->routers);
  const auto requantized = IdentityOf(Variant{.expert_type = BlockType::kQ8_0});
  EXPECT_EQ(requantized->routers, model->routers);
  EXPECT_NE(requantized->experts, model->experts);
}

TEST(ModelIdentityTest, DoesNotDependOnNamesPlacesOrExpertWeights) {
  const auto model = IdentityOf(Variant());
  EXPECT_EQ(*IdentityOf(Variant{.name = "renamed"}), *model);
  EXPECT_EQ(*IdentityOf(Variant{.reversed = true}), *model);
  EXPECT_EQ(*IdentityOf(Variant{.reversed = true, .has_bias = true}),
            *IdentityOf(Variant{.has_bias = true}));
  EXPECT_EQ(*IdentityOf(Variant{.expert_bytes = 'f'}), *model);
}

TEST(ModelIdentityTest, LeavesOutWhatIsNoLayerOfTheTrunk) {
  const auto tiny = IdentityOf(Runfile("testdata/strata-tiny-q4_k_m.gguf").value());
  ASSERT_TRUE(tiny.ok()) << tiny.status();
  EXPECT_EQ(tiny->geometry.Describe(), "4 layers (0 to 3) of 16 experts, 2 used");
}

TEST(ModelIdentityTest, ADenseModelHasNone) {
  const auto file = GgufFile::Open(Runfile("testdata/strata-tiny-q4_k_m.gguf").value());
  const auto identity = ModelIdentity::Of(**file, ExpertLayout());
  EXPECT_EQ(ErrorKind(identity.status()), "no_experts");
  EXPECT_EQ(ErrorFile(identity.status()), (*file)->path());
}

TEST(ModelIdentityTest, ReadsWhatItWrote) {
  const ModelIdentity model = TestIdentity(3, 7, 2, /*content=*/77);
  LittleEndianWriter writer;
  model.AppendTo(writer);
  LittleEndianReader reader(writer.bytes());
  const auto read = ModelIdentity::Read(reader);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, model);
  EXPECT_EQ(reader.bytes_left(), 0u);
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    LittleEndianReader cut(absl::MakeConstSpan(writer.bytes()).first(size));
    EXPECT_EQ(ErrorKind(ModelIdentity::Read(cut).status()), "truncated") << size;
  }
}

std::string KindOf(uint32_t layers, uint32_t experts, uint32_t used, uint32_t second_block,
                   uint64_t blob_bytes, uint64_t expert_bytes) {
  LittleEndianWriter writer;
  writer.Number(layers).Number(experts).Number(used);
  for (int i = 0; i < 4; ++i) writer.Number(uint64_t{0});
  for (const uint32_t block : {1u, second_block}) {
    writer.Number(block).Number(blob_bytes).Number(expert_bytes);
  }
  LittleEndianReader reader(writer.bytes());
  return ErrorKind(ModelIdentity::Read(reader).status());
}

TEST(ModelIdentityTest, RefusesNumbersThatNoModelHas) {
  EXPECT_EQ(KindOf(2, 8, 2, 3, 512, 500), "");
  EXPECT_EQ(KindOf(0, 8, 2, 3, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 0, 0, 3, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 0, 3, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 9, 3, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 1 << 17, 2, 3, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(~0u, ~0u, 2, 3, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(1 << 20, 8, 2, 3, 512, 500), "truncated");
  EXPECT_EQ(KindOf(2, 8, 2, 1, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 2, 0, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 2, 1u << 31, 512, 500), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 2, 3, 0, 0), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 2, 3, 512, 513), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 2, 3, 512, ~uint64_t{0}), "bad_geometry");
  EXPECT_EQ(KindOf(2, 8, 2, 3, uint64_t{1} << 39, 500), "bad_geometry");
}

}  // namespace
}  // namespace strata
