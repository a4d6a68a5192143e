// Experts of prompts on a card against the CPU's arithmetic, bit for bit: experts with no rows, one,
// three and hundreds.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/prompt_feed_forward.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/prompt_testing.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/weight_matrix.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kExperts = 6;
constexpr int kChosen = 2;

std::vector<std::vector<float>> RandomVectors(int count, int64_t size, std::mt19937& random) {
  std::vector<std::vector<float>> vectors(count);
  for (std::vector<float>& x : vectors) x = RandomActivations(size, random);
  return vectors;
}

// Expert 0 has no rows, 1 has one, 2 has three, the others share the rest.
std::vector<int32_t> ChoicesOf(int rows) {
  std::vector<int32_t> experts;
  for (int row = 0; row < rows; ++row) {
    const int first = row == rows / 2 ? 1 : row % 5 == 0 && row < 15 ? 2 : 3 + row % 2;
    experts.push_back(first);
    experts.push_back(5);
  }
  return experts;
}

struct TestMatrix {
  TestMatrix(BlockType type, int64_t rows, int64_t columns, std::mt19937& random)
      : bytes(RandomWeights(type, rows * columns, random)),
        device(bytes),
        matrix({type, rows, columns, bytes.data()}) {}

  std::vector<float> Times(const ActivationView& x) const {
    std::vector<float> y(matrix.rows);
    float* const to = y.data();
    EXPECT_TRUE(MatMul(matrix, {0, matrix.rows}, {&x, 1}, {&to, 1}));
    return y;
  }

  const std::vector<std::byte> bytes;
  const DeviceArray<std::byte> device;
  const WeightMatrix matrix;
};

void AddBias(absl::Span<const float> bias, float scale, std::vector<float>& y) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = f32::Add(f32::Mul(y[i], scale), bias[i]);
}

class PromptFeedForwardTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};

// A layer of experts of one shape, computed on both.
class ExpertsRun {
 public:
  ExpertsRun(BlockType gate_type, BlockType down_type, int rows, int64_t width, int64_t hidden,
             int tile)
      : rows_(rows),
        random_(static_cast<uint32_t>(rows)),
        x_(RandomVectors(rows, width, random_)),
        choices_(ChoicesOf(rows)),
        device_choices_(choices_),
        scales_(RandomActivations(kExperts, random_)),
        biases_(RandomActivations(kExperts * hidden, random_)),
        device_scales_(scales_),
        device_biases_(biases_),
        hidden_(rows * kChosen, hidden),
        out_(rows * kChosen * width),
        y_(rows * width),
        entries_(rows * kChosen),
        tiles_(MaxPromptTiles(rows * kChosen, kExperts, tile)),
        num_tiles_(1) {
    for (int i = 0; i < rows * kChosen; ++i) weights_.push_back(0.1f + 0.01f * (i % 17));
    device_weights_ = std::make_unique<DeviceArray<float>>(weights_);
    std::vector<DeviceExpert> table;
    for (int e = 0; e < kExperts; ++e) {
      gates_.push_back(std::make_unique<TestMatrix>(gate_type, hidden, width, random_));
      ups_.push_back(std::make_unique<TestMatrix>(gate_type, hidden, width, random_));
      downs_.push_back(std::make_unique<TestMatrix>(down_type, width, hidden, random_));
      table.push_back(
          {{gates_[e]->device.data(), ups_[e]->device.data(), downs_[e]->device.data()}});
    }
    table_ = std::make_unique<DeviceArray<DeviceExpert>>(table);
    groups_ = {tile, entries_.data(), tiles_.data(), num_tiles_.data()};
    routing_ = {kExperts, kChosen, device_choices_.data(), device_weights_->data()};
    gate_ = {.type = gate_type,
             .rows = hidden,
             .columns = width,
             .scales = device_scales_.data(),
             .biases = device_biases_.data()};
    up_ = {.type = gate_type, .rows = hidden, .columns = width, .part = 1};
    down_ = {.type = down_type, .rows = width, .columns = hidden, .part = 2};
  }

  void RunOnDevice() {
    const KernelStream stream;
    ASSERT_TRUE(GroupPromptRows(rows_, routing_, groups_, stream).ok());
    const PromptGatedFaults faults = {fault_.report(1), fault_.report(2), fault_.report(3)};
    auto status = LaunchPromptGatedExperts({.rows = rows_,
                                            .x = x_.device(),
                                            .routing = routing_,
                                            .groups = groups_,
                                            .experts = table_->data(),
                                            .gate = gate_,
                                            .up = up_,
                                            .hidden = hidden_.forms(),
                                            .faults = faults},
                                           stream);
    ASSERT_TRUE(status.ok()) << status;
    status = LaunchPromptDownExperts({.rows = rows_,
                                      .hidden = hidden_.forms(),
                                      .routing = routing_,
                                      .groups = groups_,
                                      .experts = table_->data(),
                                      .down = down_,
                                      .out = out_.data(),
                                      .fault = fault_.report(4)},
                                     stream);
    ASSERT_TRUE(status.ok()) << status;
    status = LaunchPromptExpertSum({.rows = rows_,
                                    .size = down_.rows,
                                    .routing = routing_,
                                    .out = out_.data(),
                                    .y = y_.data()},
                                   stream);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(fault_.Read(), kNoFault);
  }

  void ExpectGroups() {
    const std::vector<int32_t> entries = entries_.Read();
    std::vector<int32_t> expected(entries.size());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int32_t>(i);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int a, int b) { return choices_[a] < choices_[b]; });
    EXPECT_EQ(entries, expected);
    const std::vector<PromptTile> tiles = tiles_.Read();
    int at = 0;
    for (int i = 0; i < num_tiles_.Read()[0]; ++i) {
      ASSERT_EQ(tiles[i].begin, at);
      ASSERT_TRUE(0 < tiles[i].count && tiles[i].count <= groups_.tile_entries);
      for (int k = 0; k < tiles[i].count; ++k) {
        ASSERT_EQ(choices_[entries[at + k]], tiles[i].expert);
      }
      at += tiles[i].count;
    }
    EXPECT_EQ(at, static_cast<int>(entries.size()));
  }

  void ExpectBitsOfCpu() {
    const std::vector<float> hidden = hidden_.Values();
    const std::vector<float> y = y_.Read();
    for (int row = 0; row < rows_; ++row) {
      std::vector<float> sum(down_.rows, 0.0f);
      for (int rank = 0; rank < kChosen; ++rank) {
        const int entry = row * kChosen + rank;
        const int expert = choices_[entry];
        const ActivationView x = x_.view(*ActivationFormOf(gate_.type), row);
        std::vector<float> gate = gates_[expert]->Times(x);
        AddBias(absl::MakeConstSpan(biases_).subspan(expert * gate_.rows, gate_.rows),
                scales_[expert], gate);
        ApplyGate(GatedActivation::kSilu, gate, ups_[expert]->Times(x), absl::MakeSpan(gate));
        ASSERT_EQ(std::memcmp(&hidden[entry * gate_.rows], gate.data(), gate.size() * 4), 0)
            << "row " << row << ", rank " << rank;
        ActivationBuffer buffer;
        ASSERT_TRUE(buffer.Assign(*ActivationFormOf(down_.type), gate));
        AddWeighted(weights_[entry], downs_[expert]->Times(buffer.view()), absl::MakeSpan(sum));
        if (entry % 50 != 0) continue;
        ASSERT_TRUE(hidden_.Equals(buffer.view(), entry));
      }
      ASSERT_EQ(std::memcmp(&y[row * down_.rows], sum.data(), sum.size() * 4), 0) << "row " << row;
    }
  }

 private:
  const int rows_;
  std::mt19937 random_;
  const TestActivations x_;
  const std::vector<int32_t> choices_;
  const DeviceArray<int32_t> device_choices_;
  const std::vector<float> scales_, biases_;
  const DeviceArray<float> device_scales_, device_biases_;
  std::vector<float> weights_;
  std::unique_ptr<DeviceArray<float>> device_weights_;
  std::vector<std::unique_ptr<TestMatrix>> gates_, ups_, downs_;
  std::unique_ptr<DeviceArray<DeviceExpert>> table_;
  const DeviceForms hidden_;
  const DeviceArray<float> out_, y_;
  const DeviceArray<int32_t> entries_;
  const DeviceArray<PromptTile> tiles_;
  const DeviceArray<int32_t> num_tiles_;
  const DeviceFault fault_;
  PromptGroups groups_;
  DeviceRouting routing_;
  DeviceExpertMatrix gate_, up_, down_;
};

TEST_F(PromptFeedForwardTest, ExpertsHaveTheBitsOfTheCpuForEveryType) {
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    const auto form = ActivationFormOf(info.type);
    if (!form.has_value() || *form == ActivationForm::kF32) continue;
    ExpertsRun run(info.type, info.type, 100, 512, 256, 64);
    run.RunOnDevice();
    run.ExpectBitsOfCpu();
    if (HasFatalFailure()) FAIL() << info.name;
  }
}

TEST_F(PromptFeedForwardTest, ExpertsHaveTheBitsOfTheCpuForAnyNumberOfRows) {
  for (const int rows : {17, 64, 100, 513}) {
    for (const int tile : {64, 128}) {
      ExpertsRun run(BlockType::kQ4_K, BlockType::kIQ4_NL, rows, 512, 320, tile);
      run.RunOnDevice();
      run.ExpectGroups();
      run.ExpectBitsOfCpu();
      if (HasFatalFailure()) FAIL() << rows << " rows, tiles of " << tile;
    }
  }
}

TEST_F(PromptFeedForwardTest, AddsTheSharedExpertAndTheResidual) {
  constexpr int kRows = 30;
  constexpr int kSize = 68;
  std::mt19937 random(2);
  const std::vector<float> out = RandomActivations(kRows * kChosen * kSize, random);
  const std::vector<float> shared = RandomActivations(kRows * kSize, random);
  const std::vector<float> gate = RandomActivations(kRows, random);
  const std::vector<float> residual = RandomActivations(kRows * kSize, random);
  const std::vector<float> weights = RandomActivations(kRows * kChosen, random);
  const DeviceArray<float> device_out(out), device_shared(shared), device_gate(gate), y(residual),
      device_weights(weights);
  ASSERT_TRUE(LaunchPromptExpertSum({.rows = kRows,
                                     .size = kSize,
                                     .routing = {kExperts, kChosen, nullptr, device_weights.data()},
                                     .out = device_out.data(),
                                     .shared = device_shared.data(),
                                     .shared_gate = device_gate.data(),
                                     .y = y.data(),
                                     .residual = y.data(),
                                     .residual_scale = 0.7f},
                                    KernelStream())
                  .ok());
  const std::vector<float> found = y.Read();
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < kSize; ++i) {
      float sum = 0.0f;
      for (int rank = 0; rank < kChosen; ++rank) {
        const int entry = row * kChosen + rank;
        sum = f32::Fma(weights[entry], out[entry * kSize + i], sum);
      }
      sum = f32::Fma(f32::Sigmoid(gate[row]), shared[row * kSize + i], sum);
      sum = f32::Add(residual[row * kSize + i], f32::Mul(0.7f, sum));
      ASSERT_EQ(f32::Bits(found[row * kSize + i]), f32::Bits(sum)) << row << ", " << i;
    }
  }
}

TEST_F(PromptFeedForwardTest, ADenseFeedForwardHasTheBitsOfTheCpu) {
  constexpr int kRows = 90;
  constexpr int64_t kWidth = 256;
  constexpr int64_t kHidden = 288;
  std::mt19937 random(6);
  const TestMatrix gate(BlockType::kQ6_K, kHidden, kWidth, random);
  const TestMatrix up(BlockType::kQ6_K, kHidden, kWidth, random);
  const TestActivations x(RandomVectors(kRows, kWidth, random));
  const DeviceForms hidden(kRows, kHidden);
  const DeviceFault fault;
  const auto status =
      LaunchPromptGatedDense({.rows = kRows,
                              .x = x.device(),
                              .gate = {BlockType::kQ6_K, kHidden, kWidth, gate.device.data()},
                              .up = {BlockType::kQ6_K, kHidden, kWidth, up.device.data()},
                              .activation = GatedActivation::kClampedSwiglu,
                              .hidden = hidden.forms(),
                              .faults = {fault.report(1), fault.report(2), fault.report(3)}},
                             KernelStream());
  ASSERT_TRUE(status.ok()) << status;
  for (int row = 0; row < kRows; ++row) {
    const ActivationView view = x.view(ActivationForm::kA256, row);
    std::vector<float> expected = gate.Times(view);
    ApplyGate(GatedActivation::kClampedSwiglu, expected, up.Times(view), absl::MakeSpan(expected));
    ActivationBuffer buffer;
    ASSERT_TRUE(buffer.Assign(ActivationForm::kA32, expected));
    ASSERT_TRUE(hidden.Equals(buffer.view(), row)) << row;
  }
  EXPECT_EQ(fault.Read(), kNoFault);
}

}  // namespace
}  // namespace strata
