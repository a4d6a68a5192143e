#include "strata/generate/kernels/cuda/draw_tokens.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

class DrawTokensTest : public KernelTest {
 protected:
  static constexpr int kRoutingBytes = 48;

  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    best_ = std::make_unique<DeviceArray<uint64_t>>(kMaxRows);
    best_->Clear();
    ticket_ = std::make_unique<DeviceArray<uint32_t>>(1);
    ticket_->Clear();
  }

  // Rows 1, 3, ... of the step want logits; row i is of sequence 20 - i.
  void Draw(const std::vector<float>& logits, int num_wanted, int max_wanted, float logit_scale) {
    const int64_t vocabulary = static_cast<int64_t>(logits.size()) / max_wanted;
    DeviceStep step;
    step.num_wanted = num_wanted;
    for (int row = 0; row < kMaxRows; ++row) step.rows[row].sequence = 20 - row;
    for (int i = 0; i < num_wanted; ++i) step.wanted[i] = 2 * i + 1;
    const DeviceArray<DeviceStep> device_step(std::vector<DeviceStep>{step});
    const DeviceArray<float> device_logits(logits), host_logits(device_logits.size());
    const DeviceArray<int32_t> drawn(21);
    const DeviceArray<DeviceStepResult> result(1);
    std::vector<std::byte> routing(kRoutingBytes);
    for (int i = 0; i < kRoutingBytes; ++i) routing[i] = static_cast<std::byte>(i);
    const DeviceArray<std::byte> from(routing), to(kRoutingBytes);
    ASSERT_TRUE(DrawTokens({.max_wanted = max_wanted,
                            .vocabulary = vocabulary,
                            .logit_scale = logit_scale,
                            .logits = device_logits.data(),
                            .host_logits = host_logits.data(),
                            .step = device_step.data(),
                            .best = best_->data(),
                            .ticket = ticket_->data(),
                            .drawn = drawn.data(),
                            .result = result.data(),
                            .copies = {{}, {from.data(), to.data(), kRoutingBytes}},
                            .fault = fault()},
                           stream_)
                    .ok());
    FinishKernels();
    result_ = result.Read()[0];
    drawn_ = drawn.Read();
    logits_ = device_logits.Read();
    host_logits_ = host_logits.Read();
    EXPECT_EQ(to.Read(), routing);
    EXPECT_EQ(best_->Read(), std::vector<uint64_t>(kMaxRows, 0));
    EXPECT_EQ(ticket_->Read()[0], 0u);
  }

  DeviceStepResult result_;
  std::vector<int32_t> drawn_;
  std::vector<float> logits_, host_logits_;

 private:
  std::unique_ptr<DeviceArray<uint64_t>> best_;
  std::unique_ptr<DeviceArray<uint32_t>> ticket_;
};

TEST_F(DrawTokensTest, DrawsTheMostLikelyTokenOfEachRow) {
  for (const int64_t vocabulary : {1, 7, 255, 5000, 151936}) {
    for (const float scale : {1.0f, 3.0f}) {
      std::vector<float> logits = RandomValues(4 * vocabulary);
      // The same greatest value in several places.
      for (int64_t row = 0; row < 4; ++row) {
        for (const int64_t id : {vocabulary / 3, vocabulary / 2, vocabulary - 1}) {
          logits[row * vocabulary + id] = row == 2 ? -0.0f : 9.0f;
        }
      }
      Draw(logits, /*num_wanted=*/3, /*max_wanted=*/4, scale);
      for (int64_t i = 0; i < 3 * vocabulary; ++i) logits[i] = f32::Div(logits[i], scale);
      EXPECT_EQ(logits_, logits);
      EXPECT_EQ(result_.num_drawn, 3);
      EXPECT_EQ(result_.fault, kNoFault);
      for (int row = 0; row < 3; ++row) {
        const auto of_row = absl::MakeConstSpan(logits).subspan(row * vocabulary, vocabulary);
        EXPECT_EQ(result_.drawn[row], ArgMax(of_row)) << vocabulary << ", row " << row;
        EXPECT_EQ(drawn_[20 - (2 * row + 1)], ArgMax(of_row));
        for (int64_t i = 0; i < vocabulary; ++i) {
          ASSERT_EQ(host_logits_[row * vocabulary + i], of_row[i]);
        }
      }
      EXPECT_EQ(drawn_[20], -1);  // Row 0 wanted nothing.
    }
  }
}

TEST_F(DrawTokensTest, TellsOfTheStepWhereNothingIsWanted) {
  Draw(RandomValues(10), /*num_wanted=*/0, /*max_wanted=*/1, 1.0f);
  EXPECT_EQ(result_.num_drawn, 0);
  EXPECT_EQ(drawn_, std::vector<int32_t>(21, -1));
}

TEST_F(DrawTokensTest, ReportsLogitsThatAreNotFinite) {
  std::vector<float> logits = RandomValues(3 * 100);
  logits[1 * 100 + 50] = NAN;
  logits[2 * 100 + 20] = INFINITY;
  Draw(logits, /*num_wanted=*/3, /*max_wanted=*/3, 1.0f);
  EXPECT_EQ(result_.fault, EncodeFault(kOperation, 3));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(0 <= result_.drawn[i] && result_.drawn[i] < 100);
}

}  // namespace
}  // namespace strata
