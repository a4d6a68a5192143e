#include "strata/core/gguf/tensor_place.h"

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TensorKind KindOf(absl::string_view name) { return ClassifyTensor(name).kind; }

TEST(TensorPlaceTest, TellsExpertsFromWhatOnlyLooksLikeThem) {
  EXPECT_EQ(KindOf("blk.0.ffn_gate_exps.weight"), TensorKind::kExpert);
  EXPECT_EQ(KindOf("blk.0.ffn_gate_up_exps.weight"), TensorKind::kExpert);
  EXPECT_EQ(KindOf("blk.0.ffn_down.12.weight"), TensorKind::kExpert);
  EXPECT_EQ(KindOf("blk.0.ffn_gate_exps.scale"), TensorKind::kExpertCompanion);
  EXPECT_EQ(KindOf("blk.0.ffn_down_exps.bias"), TensorKind::kExpertCompanion);
  EXPECT_EQ(KindOf("blk.0.ffn_up_shexp.weight"), TensorKind::kSharedExpert);
  EXPECT_EQ(KindOf("blk.0.ffn_gate_inp_shexp.weight"), TensorKind::kSharedExpert);
  EXPECT_EQ(KindOf("blk.0.ffn_gate_inp.weight"), TensorKind::kRouter);
  EXPECT_EQ(KindOf("blk.0.ffn_gate.weight"), TensorKind::kDenseFfn);
  EXPECT_EQ(KindOf("blk.0.ffn_down.bias"), TensorKind::kDenseFfn);
  EXPECT_EQ(KindOf("blk.0.ffn_gate_chexps.weight"), TensorKind::kOfBlock);
  EXPECT_EQ(KindOf("blk.0.exp_probs_b.bias"), TensorKind::kOfBlock);
  EXPECT_EQ(KindOf("blk.3.nextn.eh_proj.weight"), TensorKind::kNextN);
  EXPECT_EQ(KindOf("token_embd.weight"), TensorKind::kGlobal);
  EXPECT_EQ(KindOf("ffn_gate_exps.weight"), TensorKind::kGlobal);
}

TEST(TensorPlaceTest, ReadsBlockRoleAndExpert) {
  const TensorPlace merged = ClassifyTensor("blk.47.ffn_up_exps.weight");
  EXPECT_EQ(merged.block, 47);
  EXPECT_EQ(merged.role, ExpertRole::kUp);
  EXPECT_EQ(merged.expert, -1);
  const TensorPlace single = ClassifyTensor("blk.3.ffn_down.7.weight");
  EXPECT_EQ(single.block, 3);
  EXPECT_EQ(single.role, ExpertRole::kDown);
  EXPECT_EQ(single.expert, 7);
}

TEST(TensorPlaceTest, RefusesNumbersThatNoWriterPrints) {
  for (const char* name :
       {"blk.4294967296.ffn_up_exps.weight", "blk.-1.x", "blk.99999999999999999999.x", "blk..x",
        "blk.01.x", "blk.1", "blk.+1.x", "blk.1e1.x", "blk.0.ffn_up.4294967296.weight",
        "blk.0.ffn_up.-1.weight", "blk.0.ffn_up.00.weight", "blk.0.ffn_up.1x.weight"}) {
    EXPECT_EQ(KindOf(name), TensorKind::kMalformed) << name;
  }
}

}  // namespace
}  // namespace strata
