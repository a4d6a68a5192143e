#include "strata/generate/kernels/cuda/route_rows.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/norm_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/routing_options.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr float kEpsilon = 1e-5f;

class RouteRowsTest : public KernelTest {
 protected:
  struct Case {
    int num_rows = 1;
    int64_t size = 256;
    bool has_part = false;
    bool has_logit_bias = false;
    float logit_scale = 1.0f;
    bool has_ties = false;
  };

  // Twice with the same tickets, as steps do.
  void Check(const Case& c, const RouterOptions& options) {
    SCOPED_TRACE(testing::Message()
                 << c.num_rows << " rows of " << c.size << ", " << options.num_experts
                 << " experts, gating " << static_cast<int>(options.gating));
    const int num_experts = options.num_experts;
    std::vector<float> router = RandomValues(num_experts * c.size, 0.1f);
    if (c.has_ties) {
      for (int64_t i = 0; i < 3 * c.size; ++i) router[(num_experts - 3) * c.size + i] = router[i];
    }
    const DeviceArray<float> weights(router), bias(RandomValues(num_experts));
    const DeviceArray<float> selection_bias(
        options.selection_bias.empty() ? std::vector<float>(1) : options.selection_bias);
    DeviceArray<uint32_t> tickets(kMaxRows);
    tickets.Clear();
    for (int round = 0; round < 2; ++round) {
      const std::vector<float> state = RandomValues(c.num_rows * c.size);
      const std::vector<float> part = RandomValues(c.num_rows * c.size);
      const std::vector<float> norm = RandomValues(c.size);
      const DeviceArray<float> x(state), parts(part), norms(norm);
      const DeviceArray<float> sum(state.size()), logits(c.num_rows * num_experts);
      const ActivationArrays out(c.num_rows, c.size);
      const DeviceArray<int32_t> experts(c.num_rows * options.num_chosen);
      const DeviceArray<float> expert_weights(c.num_rows * options.num_chosen);
      RouteTask task = {
          .norm = {.num_rows = c.num_rows,
                   .x = x.data(),
                   .weight = norms.data(),
                   .epsilon = kEpsilon,
                   .out = out.forms(),
                   .fault = fault()},
          .router = {.gating = options.gating,
                     .num_experts = num_experts,
                     .num_chosen = options.num_chosen,
                     .normalize = options.normalize,
                     .scale = options.scale,
                     .num_groups = options.num_groups,
                     .num_groups_used = options.num_groups_used,
                     .selection_bias =
                         options.selection_bias.empty() ? nullptr : selection_bias.data(),
                     .weights = weights.data(),
                     .logit_scale = c.logit_scale,
                     .logit_bias = c.has_logit_bias ? bias.data() : nullptr},
          .logits = logits.data(),
          .tickets = tickets.data(),
          .experts = experts.data(),
          .weights = expert_weights.data(),
          .fault = fault()};
      if (c.has_part) task.norm.residual = {.part = parts.data(), .sum = sum.data()};
      ASSERT_TRUE(RouteRows(task, stream_).ok());
      FinishKernels();
      ExpectChoices(c, options, state, part, norm, router, bias.Read(), sum, out, logits,
                    experts.Read(), expert_weights.Read());
      EXPECT_EQ(tickets.Read(), std::vector<uint32_t>(kMaxRows, 0));
      EXPECT_EQ(ReadFault(), kNoFault);
    }
  }

 private:
  void ExpectChoices(const Case& c, const RouterOptions& options, std::vector<float> state,
                     const std::vector<float>& part, const std::vector<float>& norm,
                     const std::vector<float>& router, const std::vector<float>& bias,
                     const DeviceArray<float>& sum, const ActivationArrays& out,
                     const DeviceArray<float>& device_logits, const std::vector<int32_t>& experts,
                     const std::vector<float>& expert_weights) {
    const Router reference(options);
    RouterScratch scratch;
    const std::vector<float> found_logits = device_logits.Read();
    std::vector<float> normed(state.size());
    if (c.has_part) AddProduct(1.0f, part, absl::MakeSpan(state));
    for (int row = 0; row < c.num_rows; ++row) {
      const auto x = absl::MakeSpan(normed).subspan(row * c.size, c.size);
      RmsNorm(absl::MakeConstSpan(state).subspan(row * c.size, c.size), norm, kEpsilon, x);
      std::vector<float> logits(options.num_experts);
      DotRows(x, router.data(), absl::MakeSpan(logits));
      for (int e = 0; e < options.num_experts; ++e) {
        if (c.logit_scale != 1.0f) logits[e] = f32::Mul(logits[e], c.logit_scale);
        if (c.has_logit_bias) logits[e] = f32::Add(logits[e], bias[e]);
        ASSERT_EQ(f32::Bits(found_logits[row * options.num_experts + e]), f32::Bits(logits[e]))
            << "row " << row << ", expert " << e;
      }
      std::vector<ExpertChoice> chosen(options.num_chosen);
      reference.Choose(logits, scratch, absl::MakeSpan(chosen));
      for (int rank = 0; rank < options.num_chosen; ++rank) {
        const int entry = row * options.num_chosen + rank;
        EXPECT_EQ(experts[entry], chosen[rank].expert) << "rank " << rank;
        EXPECT_EQ(f32::Bits(expert_weights[entry]), f32::Bits(chosen[rank].weight))
            << "rank " << rank;
      }
    }
    out.Expect(normed);
    if (c.has_part) {
      EXPECT_EQ(sum.Read(), state);
    }
  }
};

TEST_F(RouteRowsTest, ChoosesAsTheCpuDoes) {
  for (const Gating gating :
       {Gating::kSoftmax, Gating::kSigmoid, Gating::kSoftmaxOfChosen, Gating::kSqrtSoftplus}) {
    Check({.num_rows = 3},
          {.gating = gating, .num_experts = 128, .num_chosen = 8, .normalize = true});
    Check({.num_rows = 1, .has_part = true, .has_logit_bias = true},
          {.gating = gating, .num_experts = 32, .num_chosen = 4, .scale = 2.5f});
    Check({.num_rows = 2, .logit_scale = 0.5f}, {.gating = gating,
                                                 .num_experts = 64,
                                                 .num_chosen = 6,
                                                 .normalize = true,
                                                 .scale = 1.5f,
                                                 .num_groups = 8,
                                                 .num_groups_used = 3,
                                                 .selection_bias = RandomValues(64, 0.2f)});
  }
}

TEST_F(RouteRowsTest, ChoosesFromFewAndManyExpertsAndRaggedWidths) {
  Check({.size = 64}, {.num_experts = 4, .num_chosen = 4});
  Check({.size = 2048}, {.num_experts = 128, .num_chosen = 8, .normalize = true});
  Check({.num_rows = 16, .size = 640}, {.num_experts = 130, .num_chosen = 8});
  Check({.size = 2880}, {.num_experts = 512, .num_chosen = 10, .normalize = true});
  Check({.size = 72}, {.num_experts = 1024, .num_chosen = 32});
  Check({.size = 7168}, {.num_experts = 6, .num_chosen = 2});
}

TEST_F(RouteRowsTest, GivesTiesToTheLowerIndex) {
  Check({.num_rows = 2, .has_ties = true}, {.num_experts = 32, .num_chosen = 31});
  Check({.num_rows = 2, .has_ties = true},
        {.num_experts = 6, .num_chosen = 3, .num_groups = 6, .num_groups_used = 3});
}

TEST_F(RouteRowsTest, ReportsScoresThatAreNotFiniteAndChoosesInRange) {
  constexpr int kExperts = 16;
  std::vector<float> router = RandomValues(kExperts * 64);
  for (int i = 0; i < 4 * 64; ++i) router[i] = i % 2 == 0 ? NAN : INFINITY;
  const DeviceArray<float> weights(router), x(RandomValues(64)), logits(kExperts);
  const ActivationArrays out(1, 64);
  DeviceArray<uint32_t> tickets(kMaxRows);
  tickets.Clear();
  const DeviceArray<int32_t> experts(8);
  const DeviceArray<float> expert_weights(8);
  ASSERT_TRUE(
      RouteRows({.norm = {.num_rows = 1,
                          .x = x.data(),
                          .epsilon = kEpsilon,
                          .out = out.forms(),
                          .fault = fault()},
                 .router = {.num_experts = kExperts, .num_chosen = 8, .weights = weights.data()},
                 .logits = logits.data(),
                 .tickets = tickets.data(),
                 .experts = experts.data(),
                 .weights = expert_weights.data(),
                 .fault = fault()},
                stream_)
          .ok());
  FinishKernels();
  EXPECT_EQ(ReadFault(), EncodeFault(kOperation, 0));
  for (const int expert : experts.Read()) EXPECT_TRUE(0 <= expert && expert < kExperts) << expert;
}

}  // namespace
}  // namespace strata
