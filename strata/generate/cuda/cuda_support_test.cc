#include "strata/generate/cuda/cuda_support.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/testing/open_model.h"

namespace strata {
namespace {

absl::Status Check(const std::string& oracle) {
  return CheckKernelsRun(OpenModel("testdata/oracles/arch/" + oracle + ".gguf").graph);
}

TEST(CudaSupportTest, NamesThePartWithoutKernels) {
  for (const auto& [oracle, part] :
       {std::pair("gemma4", "norms of values"), std::pair("qwen3next", "gated delta nets"),
        std::pair("lfm2moe", "short convolutions"), std::pair("deepseek2", "latent attention")}) {
    const absl::Status status = Check(oracle);
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(part));
  }
}

TEST(CudaSupportTest, EachPartThatHasNoneIsEnough) {
  OpenModel model("testdata/oracles/arch/qwen3moe.gguf");
  EXPECT_TRUE(CheckKernelsRun(model.graph).ok());
  model.graph.logit_cap = 30.0f;
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
  model.graph.logit_cap = 0.0f;
  model.graph.layers[0].feed_forward_residual.state_scale = 0.5f;
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
  model.graph.layers[0].feed_forward_residual.state_scale = 1.0f;
  auto& experts = std::get<MixtureOfExperts>(model.graph.layers[1].feed_forward);
  experts.activation = GatedActivation::kGelu;
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
  experts.activation = GatedActivation::kSilu;
  experts.norms.emplace();
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
  experts.norms.reset();
  auto& attention = std::get<SelfAttention>(model.graph.layers[0].mixer);
  attention.indexer.emplace();
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
  attention.indexer.reset();
  model.graph.ngrams.emplace();
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
  model.graph.ngrams.reset();
  EXPECT_TRUE(CheckKernelsRun(model.graph).ok());
  model.graph.num_streams = 4;
  EXPECT_TRUE(absl::IsUnimplemented(CheckKernelsRun(model.graph)));
}

}  // namespace
}  // namespace strata
