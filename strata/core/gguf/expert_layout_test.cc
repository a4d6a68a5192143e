#include "strata/core/gguf/expert_layout.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_sample_files.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/model_test_file.h"

namespace strata {
namespace {

using testing::ElementsAre;

constexpr int64_t kMatrixBytes = 8 * 8 * 4;  // Of the sample models' experts, F32.

absl::StatusOr<ExpertLayout> Layout(const GgufFile& file) {
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(file);
  if (!config.ok()) return config.status();
  return ExpertLayout::Create(file, *config);
}

ExpertLayout LayoutOf(const GgufWriter& writer) {
  const absl::StatusOr<ExpertLayout> layout = Layout(*OpenWritten(writer));
  EXPECT_TRUE(layout.ok()) << layout.status();
  return *layout;
}

std::string Kind(const GgufWriter& writer) {
  return ErrorKind(Layout(*OpenWritten(writer)).status());
}

// A block's norm and dense feed-forward part.
void AddDenseBlock(int block, GgufWriter& writer) {
  for (const char* role : {"gate", "up", "down"}) {
    writer.Tensor(absl::StrCat("blk.", block, ".ffn_", role, ".weight"), BlockType::kF32, {8, 8});
  }
}

GgufWriter Model(absl::string_view form, int num_experts) {
  GgufWriter writer = MoeKeys(num_experts, 1);
  AddMoeBlock(0, num_experts, form, writer);
  return writer;
}

TEST(ExpertLayoutTest, AMergedExpertIsOneRunOfEachTensor) {
  const auto file = OpenWritten(Model("merged", 4));
  const absl::StatusOr<ExpertLayout> layout = Layout(*file);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(layout->layers(), ElementsAre(0));
  EXPECT_EQ(layout->num_experts(), 4);
  EXPECT_EQ(layout->num_used(), 1);
  EXPECT_EQ(layout->form(), ExpertForm::kMerged);
  const ExpertSlices slices = layout->Slices({0, 3});
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0].role, ExpertRole::kGate);
  EXPECT_EQ(slices[1].role, ExpertRole::kUp);
  EXPECT_EQ(slices[2].role, ExpertRole::kDown);
  EXPECT_EQ(slices[1].bytes, kMatrixBytes);
  EXPECT_EQ(slices[1].file_offset,
            file->FindTensor("blk.0.ffn_up_exps.weight")->file_offset + 3 * kMatrixBytes);
  EXPECT_EQ(slices[1].row_length, 8);
  EXPECT_EQ(slices[1].num_rows, 8);
}

TEST(ExpertLayoutTest, AFusedExpertIsGateAndUpInOneThenDown) {
  const ExpertLayout layout = LayoutOf(Model("fused", 2));
  EXPECT_EQ(layout.form(), ExpertForm::kFused);
  const ExpertSlices slices = layout.Slices({0, 1});
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].role, ExpertRole::kGateUp);
  EXPECT_EQ(slices[0].num_rows, 16);
  EXPECT_EQ(slices[0].bytes, 2 * kMatrixBytes);
}

TEST(ExpertLayoutTest, SeparateExpertsLieWhereTheirTensorsDo) {
  const auto file = OpenWritten(Model("separate", 3));
  const absl::StatusOr<ExpertLayout> layout = Layout(*file);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->form(), ExpertForm::kSeparate);
  EXPECT_EQ(layout->Slices({0, 2})[2].file_offset,
            file->FindTensor("blk.0.ffn_down.2.weight")->file_offset);
}

TEST(ExpertLayoutTest, ABlobsPartsAreAlignedTo256Bytes) {
  // 64 weights in MXFP4 are 34 bytes.
  GgufWriter writer = MoeKeys(2, 1);
  writer.Key("qwen3moe.expert_feed_forward_length", uint32_t{32});
  writer.Tensor("blk.0.ffn_gate_inp.weight", BlockType::kF32, {8, 2});
  for (const char* role : {"gate", "up"}) {
    writer.Tensor(absl::StrCat("blk.0.ffn_", role, "_exps.weight"), BlockType::kF32, {8, 32, 2});
  }
  writer.Tensor("blk.0.ffn_down_exps.weight", BlockType::kMXFP4, {32, 8, 2});
  const ExpertLayout layout = LayoutOf(writer);
  EXPECT_EQ(layout.ExpertBytes(0), 1024 + 1024 + 8 * 17);
  EXPECT_EQ(layout.BlobBytes(0), 1024 + 1024 + 256);
  EXPECT_EQ(layout.Slices({0, 0})[2].type, BlockType::kMXFP4);
}

TEST(ExpertLayoutTest, TellsNextNBlocksFromTheTrunkAndLeavesDenseOnesOut) {
  GgufWriter writer = MoeKeys(2, 4);
  writer.Key("qwen3moe.nextn_predict_layers", uint32_t{1});
  AddMoeBlock(3, 2, "merged", writer);
  AddMoeBlock(2, 2, "merged", writer);
  AddDenseBlock(0, writer);
  AddMoeBlock(1, 2, "separate", writer);
  const ExpertLayout layout = LayoutOf(writer);
  EXPECT_THAT(layout.layers(), ElementsAre(1, 2));
  EXPECT_THAT(layout.nextn_layers(), ElementsAre(3));
  EXPECT_TRUE(layout.HasExperts(3));
  EXPECT_FALSE(layout.HasExperts(0));
  EXPECT_EQ(layout.ExpertBytes(3), layout.ExpertBytes(2));
  EXPECT_EQ(layout.num_nextn_blocks(), 1);
  EXPECT_EQ(layout.form(), ExpertForm::kMixed);
}

TEST(ExpertLayoutTest, ANextNBlockWhoseExpertsAreWrongIsNoFaultOfTheTrunk) {
  GgufWriter writer = MoeKeys(2, 2);
  writer.Key("qwen3moe.nextn_predict_layers", uint32_t{1});
  AddMoeBlock(0, 2, "merged", writer);
  AddMoeBlock(1, 3, "merged", writer);
  const ExpertLayout layout = LayoutOf(writer);
  EXPECT_THAT(layout.layers(), ElementsAre(0));
  EXPECT_TRUE(layout.nextn_layers().empty());
}

TEST(ExpertLayoutTest, NextNBlocksNeedNotBeThere) {
  GgufWriter writer = MoeKeys(2, 2);
  writer.Key("qwen3moe.nextn_predict_layers", uint32_t{1});
  AddMoeBlock(0, 2, "merged", writer);
  EXPECT_EQ(LayoutOf(writer).num_nextn_blocks(), 0);
}

TEST(ExpertLayoutTest, SharedExpertsAndCompanionsAreNoExperts) {
  GgufWriter writer = Model("merged", 2);
  writer.Tensor("blk.0.ffn_gate_shexp.weight", BlockType::kF32, {8, 8});
  writer.Tensor("blk.0.ffn_gate_exps.scale", BlockType::kF32, {2});
  writer.Tensor("blk.0.ffn_down_exps.bias", BlockType::kF32, {8, 2});
  EXPECT_EQ(LayoutOf(writer).Slices({0, 0}).size(), 3u);
}

TEST(ExpertLayoutTest, ADenseModelHasNoLayers) {
  GgufWriter writer;
  writer.Key("general.architecture", "llama").Key("llama.block_count", uint32_t{1});
  writer.Key("llama.context_length", uint32_t{64}).Key("llama.embedding_length", uint32_t{8});
  writer.Key("llama.attention.head_count", uint32_t{2});
  writer.Key("llama.attention.layer_norm_rms_epsilon", 1e-6f);
  AddDenseBlock(0, writer);
  EXPECT_TRUE(LayoutOf(writer).empty());
}

TEST(ExpertLayoutTest, EveryBlockOfTheTrunkMustBeThere) {
  GgufWriter writer = MoeKeys(2, 3);
  AddMoeBlock(0, 2, "merged", writer);
  AddMoeBlock(2, 2, "merged", writer);
  EXPECT_EQ(Kind(writer), "tensor_missing");
  AddMoeBlock(1, 2, "merged", writer);
  EXPECT_EQ(Kind(writer), "");
  AddMoeBlock(3, 2, "merged", writer);
  EXPECT_EQ(Kind(writer), "tensor_name");
}

TEST(ExpertLayoutTest, ABlockWithNeitherExpertsNorDensePartIsIncomplete) {
  GgufWriter writer = MoeKeys(2, 2);
  AddMoeBlock(0, 2, "merged", writer);
  writer.Tensor("blk.1.ffn_gate_inp.weight", BlockType::kF32, {8, 2});
  EXPECT_EQ(Kind(writer), "tensor_missing");
}

TEST(ExpertLayoutTest, AModelOfExpertsMustHaveSome) {
  GgufWriter writer = MoeKeys(2, 1);
  AddDenseBlock(0, writer);
  EXPECT_EQ(Kind(writer), "tensor_missing");
}

TEST(ExpertLayoutTest, MergedAndSeparateAtOnceAreAmbiguous) {
  GgufWriter writer = Model("merged", 2);
  writer.Tensor("blk.0.ffn_gate.0.weight", BlockType::kF32, {8, 8});
  EXPECT_EQ(Kind(writer), "tensor_ambiguous");
}

TEST(ExpertLayoutTest, SeparateExpertsMustBeAlikeAndAsManyAsSaid) {
  const auto kind = [](const std::string& last, BlockType type, std::vector<int64_t> dims) {
    GgufWriter writer = MoeKeys(2, 1);
    writer.Tensor("blk.0.ffn_gate_inp.weight", BlockType::kF32, {8, 2});
    for (const char* name : {"gate.0", "up.0", "down.0", "up.1", "down.1"}) {
      writer.Tensor(absl::StrCat("blk.0.ffn_", name, ".weight"), BlockType::kF32, {8, 8});
    }
    return Kind(writer.Tensor(absl::StrCat("blk.0.ffn_", last, ".weight"), type, dims));
  };
  EXPECT_EQ(kind("gate.1", BlockType::kF32, {8, 8}), "");
  EXPECT_EQ(kind("gate.1", BlockType::kF16, {8, 8}), "moe_types");
  EXPECT_EQ(kind("gate.1", BlockType::kF32, {8, 4}), "tensor_shape");
  EXPECT_EQ(kind("gate.2", BlockType::kF32, {8, 8}), "moe_counts");
}

TEST(ExpertLayoutTest, ExpertsMustFitTheModelsSizes) {
  const auto kind = [](std::vector<int64_t> gate, std::vector<int64_t> down) {
    GgufWriter writer = MoeKeys(2, 1);
    writer.Tensor("blk.0.ffn_gate_inp.weight", BlockType::kF32, {8, 2});
    writer.Tensor("blk.0.ffn_gate_exps.weight", BlockType::kF32, gate);
    writer.Tensor("blk.0.ffn_up_exps.weight", BlockType::kF32, {8, 4, 2});
    return Kind(writer.Tensor("blk.0.ffn_down_exps.weight", BlockType::kF32, down));
  };
  EXPECT_EQ(kind({8, 4, 2}, {4, 8, 2}), "");
  EXPECT_EQ(kind({8, 5, 2}, {4, 8, 2}), "tensor_shape");
  EXPECT_EQ(kind({7, 4, 2}, {4, 8, 2}), "tensor_shape");
  EXPECT_EQ(kind({8, 4, 2}, {4, 7, 2}), "tensor_shape");
  EXPECT_EQ(kind({8, 4, 3}, {4, 8, 2}), "moe_counts");
  EXPECT_EQ(kind({8, 0, 2}, {0, 8, 2}), "tensor_shape");
}

TEST(ExpertLayoutTest, ALayerNeedsARouter) {
  GgufWriter writer = MoeKeys(2, 1);
  writer.Tensor("blk.0.ffn_gate_exps.weight", BlockType::kF32, {8, 8, 2});
  writer.Tensor("blk.0.ffn_up_exps.weight", BlockType::kF32, {8, 8, 2});
  writer.Tensor("blk.0.ffn_down_exps.weight", BlockType::kF32, {8, 8, 2});
  EXPECT_EQ(Kind(writer), "tensor_missing");
}

}  // namespace
}  // namespace strata
