#include "strata/generate/cuda/miss_computer.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

// A mailbox in plain memory, and what the device does with it.
class MissComputerTest : public ::testing::Test {
 protected:
  MissComputerTest()
      : model_(RandomModel{.type = BlockType::kQ4_K}.Write("miss_server")),
        mapped_(*model_.file, model_.graph.experts),
        x_(static_cast<size_t>(model_.graph.width)),
        answers_(static_cast<size_t>(kMaxChosenExperts * model_.graph.width)) {
    for (const Layer& layer : model_.graph.layers) layers_.push_back(ExpertsOf(layer));
  }

  ExpertMail Mail() {
    return {.width = model_.graph.width,
            .request = &request_,
            .x = x_.data(),
            .answered = &answered_,
            .answers = answers_.data(),
            .late = &late_};
  }

  BlobParts PartsOf(int number) {
    BlobParts parts = {};
    const int num_experts = model_.graph.experts.num_experts();
    const int layer = model_.graph.experts.layers()[static_cast<size_t>(number / num_experts)];
    EXPECT_TRUE(mapped_
                    .ForEachPart(layer, {number % num_experts},
                                 [&](absl::Span<const ExpertWeights::Location> at) {
                                   parts = at[0].parts;
                                   return absl::OkStatus();
                                 })
                    .ok());
    return parts;
  }

  MissComputer Make(MissComputer::Options options = {.num_threads = 2}) {
    return MissComputer(options, model_.graph, Mail(),
                        [this](int number) { return PartsOf(number); });
  }

  void Post(absl::Span<const int32_t> experts) {
    for (size_t i = 0; i < experts.size(); ++i) {
      request_.ranks[i] = static_cast<int32_t>(i);
      request_.experts[i] = experts[i];
    }
    std::atomic_ref<uint64_t>(request_.flag)
        .store(uint64_t{++number_} << 32 | experts.size(), std::memory_order_release);
  }
  // False after a second.
  bool WaitForAnswer() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::atomic_ref<uint32_t>(answered_).load(std::memory_order_acquire) != number_) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  // With a loop anyone can read.
  std::vector<float> Expected(int layer, int expert) {
    const MixtureOfExperts& experts = *layers_[static_cast<size_t>(layer)];
    const BlobParts parts = PartsOf(layer * experts.routing.num_experts + expert);
    const auto times = [&](const ExpertLinears& linears, const std::vector<float>& x) {
      ActivationBuffer buffer;
      EXPECT_TRUE(buffer.Assign(*ActivationFormOf(linears.type), x));
      std::vector<float> y;
      const WeightMatrix weights = linears.Weights(parts);
      for (int64_t row = 0; row < weights.rows; ++row) {
        y.push_back(RowDot(weights.type, weights.row(row), buffer.view()));
      }
      return y;
    };
    std::vector<float> hidden = times(experts.gate, x_);
    ApplyGate(experts.activation, hidden, times(experts.up, x_), absl::MakeSpan(hidden));
    return times(experts.down, hidden);
  }

  void FillActivation() {
    std::normal_distribution<float> normal;
    for (float& value : x_) value = normal(random_);
  }
  std::vector<float> AnswerAt(size_t place) const {
    const auto begin = answers_.begin() + static_cast<std::ptrdiff_t>(place * x_.size());
    return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(x_.size()));
  }

  OpenModel model_;
  MappedExperts mapped_;
  std::vector<const MixtureOfExperts*> layers_;
  MailRequest request_;
  std::vector<float> x_, answers_;
  uint32_t answered_ = 0, late_ = 0, number_ = 0;
  std::mt19937 random_{3};
};

TEST_F(MissComputerTest, AnswersEachLayerWithTheBitsOfTheKernels) {
  MissComputer server = Make();
  for (int step = 0; step < 3; ++step) {
    server.BeginStep();
    std::thread device([&] {
      FillActivation();
      Post({2, 0});
      ASSERT_TRUE(WaitForAnswer());
      EXPECT_EQ(AnswerAt(0), Expected(0, 2));
      EXPECT_EQ(AnswerAt(1), Expected(0, 0));
      FillActivation();
      Post({3});
      ASSERT_TRUE(WaitForAnswer());
      EXPECT_EQ(AnswerAt(0), Expected(1, 3));
    });
    EXPECT_TRUE(server.Serve().ok());
    device.join();
    EXPECT_TRUE(server.CheckInTime().ok());
  }
}

TEST_F(MissComputerTest, LayersWithoutMissesAreNotAnsweredAndMayPassUnseen) {
  MissComputer server = Make();
  server.BeginStep();
  Post({});
  Post({1});
  FillActivation();
  EXPECT_TRUE(server.Serve().ok());
  EXPECT_EQ(answered_, 2u);
  EXPECT_EQ(AnswerAt(0), Expected(1, 1));
  server.BeginStep();
  Post({});
  Post({});
  EXPECT_TRUE(server.Serve().ok());
  EXPECT_EQ(answered_, 2u);
}

TEST_F(MissComputerTest, AStepThatDoesNotComeOnEndsInANamedError) {
  MissComputer server = Make({.num_threads = 1, .limit = std::chrono::milliseconds(5)});
  server.BeginStep();
  Post({});
  EXPECT_EQ(server.Serve().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(MissComputerTest, AStepThatHasGivenUpWaitingIsAnError) {
  MissComputer server = Make();
  late_ = 1;
  EXPECT_EQ(server.CheckInTime().code(), absl::StatusCode::kDeadlineExceeded);
  server.BeginStep();
  EXPECT_TRUE(server.CheckInTime().ok());
}

TEST_F(MissComputerTest, ValuesThatAreNotFiniteAreSaidAndAnswered) {
  MissComputer server = Make();
  server.BeginStep();
  std::thread device([&] {
    x_.assign(x_.size(), std::numeric_limits<float>::quiet_NaN());
    Post({1});
    ASSERT_TRUE(WaitForAnswer());
    FillActivation();
    Post({1});
    ASSERT_TRUE(WaitForAnswer());
  });
  EXPECT_EQ(ErrorKind(server.Serve()), "nan_logits");
  device.join();
}

}  // namespace
}  // namespace strata
