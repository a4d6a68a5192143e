// The kernels of routed experts on a card, against plain loops over the CPU's kernels: every bit.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cuda_runtime.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/expert_sum.h"
#include "strata/generate/kernels/cuda/gated_product.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_launch.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/cuda/test_experts.h"
#include "strata/generate/kernels/cuda/test_vectors.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kExperts = 12;
constexpr int kChosen = 4;

// Types and sizes of a layer.
struct LayerShape {
  BlockType gate_type, down_type;
  int64_t width, inner;
  int offset;  // Of experts from aligned addresses.
  GatedActivation activation = GatedActivation::kSilu;
};

constexpr LayerShape kShapes[] = {
    {BlockType::kQ4_K, BlockType::kQ6_K, 512, 768, 0},
    {BlockType::kQ5_K, BlockType::kQ5_K, 256, 512, 0, GatedActivation::kClampedSwiglu},
    {BlockType::kQ4_K, BlockType::kIQ4_NL, 256, 640, 16},
    {BlockType::kIQ4_NL, BlockType::kQ8_0, 640, 96, 0},
    {BlockType::kMXFP4, BlockType::kMXFP4, 2880, 352, 0, GatedActivation::kClampedSwiglu},
    {BlockType::kQ8_0, BlockType::kQ4_0, 288, 1408, 2},
    {BlockType::kIQ2_XS, BlockType::kIQ3_S, 512, 256, 6},
    {BlockType::kF16, BlockType::kBF16, 256, 160, 0},
};

// A table of experts on the device.
std::vector<DeviceExpert> TableOf(const TestExpertMatrix& gate, const TestExpertMatrix& up,
                                  const TestExpertMatrix& down) {
  std::vector<DeviceExpert> table;
  for (int expert = 0; expert < kExperts; ++expert) {
    table.push_back({.parts = {gate.address(expert), up.address(expert), down.address(expert)}});
  }
  return table;
}

class ExpertsGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
  std::mt19937 random_{1};
};

// A layer with everything that its kernels read and write.
class TestLayer {
 public:
  TestLayer(const LayerShape& shape, std::mt19937& random)
      : shape_(shape),
        gate_(shape.gate_type, kExperts, shape.inner, shape.width, shape.offset, random),
        up_(shape.gate_type, kExperts, shape.inner, shape.width, shape.offset, random),
        down_(shape.down_type, kExperts, shape.width, shape.inner, shape.offset, random),
        table_(TableOf(gate_, up_, down_)),
        x_(*ActivationFormOf(shape.gate_type), kMaxRows, shape.width, random),
        routing_(kMaxRows, kExperts, kChosen, random),
        hidden_(*ActivationFormOf(shape.down_type), kMaxRows * kChosen, shape.inner),
        tickets_(NumTickets(kMaxRows * kChosen, shape.inner)),
        shared_(RandomActivations(kMaxRows * shape.width, random)),
        shared_gate_(RandomActivations(kMaxRows, random)),
        residual_(RandomActivations(kMaxRows * shape.width, random)),
        y_(kMaxRows * shape.width),
        fault_(1) {
    tickets_.Clear();
  }

  // From now on experts with an even index are in no slot, and what row 0 needs of them is there. Where
  // they lie are no weights: their scales are not finite.
  void ComputeMissesElsewhere() {
    std::vector<DeviceExpert> table = table_.Read();
    const std::byte* const nowhere = poison_.data();
    for (size_t expert = 0; expert < table.size(); expert += 2) {
      const ExpertEntry entry = {.parts = {nowhere, nowhere, nowhere},
                                 .form = EntryForm::kPageable};
      std::memcpy(static_cast<void*>(&table[expert]), &entry, sizeof(entry));
    }
    table_.Write(table);
    std::vector<float> mailed(kChosen * shape_.width, NAN);
    for (int rank = 0; rank < kChosen; ++rank) {
      if (routing_.expert(0, rank) % 2 != 0) continue;
      std::copy(expected_down_[rank].begin(), expected_down_[rank].end(),
                mailed.begin() + rank * shape_.width);
    }
    mailed_ = std::make_unique<DeviceArray<float>>(mailed);
  }

  // Hidden vectors have no int8 forms from now on.
  void PassValuesAlone() { values_alone_ = true; }

  absl::Status LaunchGated(int rows, const KernelStream& stream, const ProductPlan& plan) {
    return LaunchGatedExperts({.rows = rows,
                               .x = x_.on_device(),
                               .routing = routing_.on_device(),
                               .experts = table_.data(),
                               .mailed = mailed_ == nullptr ? nullptr : mailed_->data(),
                               .gate = gate_.on_device(),
                               .up = up_.on_device(1),
                               .activation = shape_.activation,
                               .hidden = {.vectors = hidden(), .tickets = tickets_.data()},
                               .faults = {.gate = {fault_.data(), 1},
                                          .up = {fault_.data(), 2},
                                          .hidden = {fault_.data(), 3}}},
                              stream, plan);
  }
  absl::Status LaunchSum(int rows, const KernelStream& stream, const ProductPlan& plan) {
    return LaunchExpertSum({.rows = rows,
                            .hidden = hidden(),
                            .routing = routing_.on_device(),
                            .experts = table_.data(),
                            .mailed = mailed_ == nullptr ? nullptr : mailed_->data(),
                            .down = down_.on_device(2),
                            .early_choice = true,  // Stored long ago.
                            .fault = {fault_.data(), 4},
                            .shared = shared_.data(),
                            .shared_gate = shared_gate_.data(),
                            .y = y_.data(),
                            .residual = residual_.data(),
                            .residual_scale = 0.5f},
                           stream, plan);
  }

  // What the kernels ought to give for all rows.
  void ComputeExpected() {
    const std::vector<float> shared = shared_.Read(), shared_gate = shared_gate_.Read(),
                             residual = residual_.Read();
    for (int row = 0; row < kMaxRows; ++row) {
      std::vector<float> sum(shape_.width, 0.0f);
      for (int rank = 0; rank < kChosen; ++rank) {
        const int expert = routing_.expert(row, rank);
        std::vector<float> hidden = gate_.Times(expert, x_.view(row));
        ApplyGate(shape_.activation, hidden, up_.Times(expert, x_.view(row)),
                  absl::MakeSpan(hidden));
        ActivationBuffer buffer;
        ASSERT_TRUE(buffer.Assign(*ActivationFormOf(shape_.down_type), hidden));
        const std::vector<float> out = down_.Times(expert, buffer.view());
        for (size_t i = 0; i < sum.size(); ++i) {
          sum[i] = f32::Fma(routing_.weight(row, rank), out[i], sum[i]);
        }
        expected_hidden_.push_back(hidden);
        expected_down_.push_back(out);
      }
      for (int64_t i = 0; i < shape_.width; ++i) {
        const int64_t at = row * shape_.width + i;
        const float value = f32::Fma(f32::Sigmoid(shared_gate[row]), shared[at], sum[i]);
        expected_y_.push_back(f32::Add(residual[at], f32::Mul(value, 0.5f)));
      }
    }
  }

  void ExpectEqual(int rows) {
    if (!values_alone_) {
      hidden_.Read();
      for (int entry = 0; entry < rows * kChosen; ++entry) {
        ASSERT_TRUE(hidden_.Equals(entry, expected_hidden_[entry])) << "entry " << entry;
      }
    }
    const std::vector<float> y = y_.Read();
    for (int64_t i = 0; i < rows * shape_.width; ++i) {
      ASSERT_EQ(f32::Bits(y[i]), f32::Bits(expected_y_[i])) << "value " << i;
    }
    ASSERT_EQ(fault_.Read()[0], kNoFault);
    for (const uint32_t ticket : tickets_.Read()) ASSERT_EQ(ticket, 0);
    y_.Poison();
  }

 private:
  DeviceActivations hidden() const {
    DeviceActivations vectors = hidden_.on_device();
    if (values_alone_) vectors.a32 = vectors.a256 = DeviceInt8Rows();
    return vectors;
  }

  const LayerShape shape_;
  bool values_alone_ = false;
  const TestExpertMatrix gate_, up_, down_;
  const DeviceArray<DeviceExpert> table_;
  const TestVectors x_;
  const TestRouting routing_;
  TestHidden hidden_;
  const DeviceArray<uint32_t> tickets_;
  const DeviceArray<float> shared_, shared_gate_, residual_;
  const DeviceArray<float> y_;
  const DeviceArray<uint32_t> fault_;
  const DeviceArray<std::byte> poison_{1 << 23};  // As it is made.
  std::unique_ptr<DeviceArray<float>> mailed_;
  std::vector<std::vector<float>> expected_hidden_, expected_down_;  // By entry.
  std::vector<float> expected_y_;
};

TEST_F(ExpertsGpuTest, HasTheBitsOfPlainLoopsForEveryNumberOfRows) {
  for (const LayerShape& shape : kShapes) {
    SCOPED_TRACE(InfoOf(shape.gate_type).name);
    TestLayer layer(shape, random_);
    layer.ComputeExpected();
    for (int rows = 1; rows <= kMaxRows; ++rows) {
      SCOPED_TRACE(rows);
      for (const ProductPlan& plan :
           {ProductPlan{}, ProductPlan{.tile_rows = 4, .threads = 64, .blocks = 5, .vectors = 1},
            ProductPlan{.tile_rows = 16, .vectors = 4}, ProductPlan{.tile_rows = 32}}) {
        ASSERT_TRUE(layer.LaunchGated(rows, {}, plan).ok());
        ASSERT_TRUE(layer.LaunchSum(rows, {}, plan).ok());
        layer.ExpectEqual(rows);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(ExpertsGpuTest, AStepOfOneRowTakesHiddenVectorsAsValues) {
  int num_tested = 0;
  for (const LayerShape& shape : kShapes) {
    SCOPED_TRACE(InfoOf(shape.gate_type).name);
    if (!TakesValues(shape.down_type, shape.inner, 1, kChosen)) continue;
    ++num_tested;
    TestLayer layer(shape, random_);
    layer.ComputeExpected();
    layer.PassValuesAlone();
    for (const ProductPlan& plan :
         {ProductPlan{}, ProductPlan{.tile_rows = 1, .threads = 64}, ProductPlan{.tile_rows = 4},
          ProductPlan{.tile_rows = 32, .threads = 128, .early_weights = false}}) {
      ASSERT_TRUE(layer.LaunchGated(1, {}, plan).ok());
      ASSERT_TRUE(layer.LaunchSum(1, {}, plan).ok());
      layer.ExpectEqual(1);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(num_tested, 7);
}

TEST_F(ExpertsGpuTest, AStepOfOneRowAddsUpWhatIsComputedElsewhere) {
  for (const LayerShape& shape : kShapes) {
    SCOPED_TRACE(InfoOf(shape.gate_type).name);
    if (!TakesValues(shape.down_type, shape.inner, 1, kChosen)) continue;
    if (!TakesNorm(shape.gate_type, shape.width, 1)) continue;
    TestLayer layer(shape, random_);
    layer.ComputeExpected();
    layer.PassValuesAlone();
    layer.ComputeMissesElsewhere();
    ASSERT_TRUE(layer.LaunchGated(1, {}, {}).ok());
    ASSERT_TRUE(layer.LaunchSum(1, {}, {}).ok());
    layer.ExpectEqual(1);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ExpertsGpuTest, StepsOfOneRowAreTheSameWhenKernelsAreLaunchedProgrammatically) {
  TestLayer layer(kShapes[0], random_);
  layer.ComputeExpected();
  layer.PassValuesAlone();
  cudaStream_t stream;
  CheckCuda(cudaStreamCreate(&stream));
  for (int i = 0; i < 300; ++i) {
    const KernelStream programmatic = {.stream = stream, .programmatic = true};
    ASSERT_TRUE(layer.LaunchGated(1, programmatic, {}).ok());
    ASSERT_TRUE(layer.LaunchSum(1, programmatic, {}).ok());
    if (i % 10 != 0) continue;
    layer.ExpectEqual(1);
    if (HasFatalFailure()) break;
  }
  CheckCuda(cudaStreamDestroy(stream));
}

TEST_F(ExpertsGpuTest, IsTheSameWhenKernelsAreLaunchedProgrammatically) {
  TestLayer layer(kShapes[0], random_);
  layer.ComputeExpected();
  cudaStream_t stream;
  CheckCuda(cudaStreamCreate(&stream));
  for (int i = 0; i < 300; ++i) {
    const int rows = 1 + i % kMaxRows;
    const KernelStream programmatic = {.stream = stream, .programmatic = true};
    ASSERT_TRUE(layer.LaunchGated(rows, programmatic, {}).ok());
    ASSERT_TRUE(layer.LaunchSum(rows, programmatic, {}).ok());
    if (i % 10 != 0) continue;
    layer.ExpectEqual(rows);
    if (HasFatalFailure()) break;
  }
  CheckCuda(cudaStreamDestroy(stream));
}

TEST_F(ExpertsGpuTest, SharedMatricesGiveTheHiddenValuesOfOneExpert) {
  constexpr int64_t kWidth = 512, kInner = 768;
  const TestExpertMatrix gate(BlockType::kQ4_K, 1, kInner, kWidth, 0, random_);
  const TestExpertMatrix up(BlockType::kQ4_K, 1, kInner, kWidth, 0, random_);
  const TestVectors x(ActivationForm::kA256, kMaxRows, kWidth, random_);
  TestHidden hidden(ActivationForm::kA256, kMaxRows, kInner);
  const DeviceArray<uint32_t> tickets(NumTickets(kMaxRows, kInner)), fault(1);
  tickets.Clear();
  const auto matrix_of = [](const TestExpertMatrix& expert) {
    const DeviceExpertMatrix all = expert.on_device();
    float scale = 0.0f;
    CheckCuda(cudaMemcpy(&scale, all.scales, sizeof(scale), cudaMemcpyDeviceToHost));
    return DeviceMatrix{.type = all.type,
                        .rows = all.rows,
                        .columns = all.columns,
                        .data = expert.address(0),
                        .scale = scale,
                        .bias = all.biases};
  };
  for (const int rows : {1, 2, 5, 16}) {
    const GatedDense product = {
        .rows = rows,
        .x = x.on_device(),
        .gate = matrix_of(gate),
        .up = matrix_of(up),
        .hidden = {.vectors = hidden.on_device(), .tickets = tickets.data()},
        .faults = {
            .gate = {fault.data(), 1}, .up = {fault.data(), 2}, .hidden = {fault.data(), 3}}};
    ASSERT_TRUE(LaunchGatedDense(product, {}).ok());
    hidden.Read();
    for (int row = 0; row < rows; ++row) {
      std::vector<float> expected = gate.Times(0, x.view(row));
      ApplyGate(GatedActivation::kSilu, expected, up.Times(0, x.view(row)),
                absl::MakeSpan(expected));
      EXPECT_TRUE(hidden.Equals(row, expected)) << row << " of " << rows;
    }
  }
  EXPECT_EQ(fault.Read()[0], kNoFault);
}

}  // namespace
}  // namespace strata
