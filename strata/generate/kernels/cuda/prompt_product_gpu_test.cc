// Products of prompts on a card against those of the CPU: bits for quantized weights, closeness for
// numbers.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/prompt_product.h"
#include "strata/generate/kernels/cuda/prompt_testing.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/model/weight_matrix.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kMatrixRows = 200;  // A whole tile and a part of one.

std::vector<std::vector<float>> RandomVectors(int count, int64_t size, std::mt19937& random) {
  std::vector<std::vector<float>> vectors(count);
  for (std::vector<float>& x : vectors) x = RandomActivations(size, random);
  return vectors;
}

// [vector][row]
std::vector<float> ProductsOfCpu(const WeightMatrix& weights, const TestActivations& x, int count) {
  std::vector<float> results(count * weights.rows);
  std::vector<ActivationView> xs;
  std::vector<float*> ys;
  for (int i = 0; i < count; ++i) {
    xs.push_back(x.view(*ActivationFormOf(weights.type), i));
    ys.push_back(results.data() + i * weights.rows);
  }
  EXPECT_TRUE(MatMul(weights, {0, weights.rows}, xs, ys));
  return results;
}

class PromptProductTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};

void ExpectSameBits(const std::vector<float>& found, const std::vector<float>& expected,
                    const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(f32::Bits(found[i]), f32::Bits(expected[i]))
        << what << ": vector " << i / kMatrixRows << ", row " << i % kMatrixRows << ": " << found[i]
        << " for " << expected[i];
  }
}

// |found - expected| against the sum of magnitudes of the products.
void ExpectClose(const WeightMatrix& weights, const TestActivations& x,
                 const std::vector<float>& found, const std::vector<float>& expected,
                 const std::string& what) {
  for (size_t i = 0; i < found.size(); ++i) {
    const ActivationView view =
        x.view(ActivationForm::kF32, static_cast<int64_t>(i) / weights.rows);
    double norm = 0;
    for (int64_t k = 0; k < view.size; ++k) norm += double{view.values[k]} * view.values[k];
    ASSERT_NEAR(found[i], expected[i], 4e-6 * std::sqrt(norm) * std::sqrt(double(view.size)))
        << what << ", " << i;
  }
}

void Compare(BlockType type, int64_t columns, int vectors, int tile) {
  std::mt19937 random(static_cast<uint32_t>(vectors + columns));
  const std::vector<std::byte> weights = RandomWeights(type, kMatrixRows * columns, random);
  const TestActivations x(RandomVectors(vectors, columns, random));
  const WeightMatrix matrix = {type, kMatrixRows, columns, weights.data()};
  const DeviceArray<std::byte> device_weights(weights);
  const DeviceArray<float> y(vectors * kMatrixRows);
  const DeviceFault fault;
  PromptProduct product = {.rows = vectors, .x = x.device(), .num_outputs = 1};
  product.outputs[0] = {.matrix = {type, kMatrixRows, columns, device_weights.data()},
                        .y = y.data(),
                        .fault = fault.report()};
  const absl::Status status = LaunchPromptProduct(product, KernelStream(), {.tile_rows = tile});
  ASSERT_TRUE(status.ok()) << status;
  const std::string what = std::string(InfoOf(type).name) + ", " + std::to_string(columns) +
                           " columns, " + std::to_string(vectors) + " vectors";
  const std::vector<float> expected = ProductsOfCpu(matrix, x, vectors);
  if (*ActivationFormOf(type) == ActivationForm::kF32) {
    ExpectClose(matrix, x, y.Read(), expected, what);
  } else {
    ExpectSameBits(y.Read(), expected, what);
  }
  EXPECT_EQ(fault.Read(), kNoFault) << what;
}

TEST_F(PromptProductTest, HasTheBitsOfTheCpuForEveryTypeAndNumberOfRows) {
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (!ActivationFormOf(info.type).has_value()) continue;
    for (const int vectors : {17, 64, 100, 513}) {
      Compare(info.type, 768, vectors, 0);
      if (HasFatalFailure()) return;
    }
    Compare(info.type, 512, 130, 64);
    Compare(info.type, 512, 130, 128);
    if (HasFatalFailure()) return;
  }
}

TEST_F(PromptProductTest, TakesRowsWhoseLastGroupIsAPartOfOne) {
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    const auto form = ActivationFormOf(info.type);
    if (!form.has_value() || *form == ActivationForm::kA256) continue;
    for (const int64_t columns : {32, 96, 512 + 32, 512 + 64, 512 + 128}) {
      if (columns % info.block_weights != 0) continue;
      Compare(info.type, columns, 70, 128);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(PromptProductTest, NumbersMayHaveAnyCountOfColumns) {
  for (const BlockType type : {BlockType::kF16, BlockType::kBF16, BlockType::kF32}) {
    for (const int64_t columns : {1, 7, 77, 300}) {
      Compare(type, columns, 70, 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(PromptProductTest, ARowsBitsDoNotDependOnTheOthers) {
  std::mt19937 random(5);
  for (const BlockType type : {BlockType::kF16, BlockType::kBF16, BlockType::kF32}) {
    constexpr int kVectors = 70;
    const int64_t columns = 320;
    const std::vector<std::byte> weights = RandomWeights(type, kMatrixRows * columns, random);
    const std::vector<std::vector<float>> vectors = RandomVectors(kVectors, columns, random);
    const DeviceArray<std::byte> device_weights(weights);
    std::vector<std::vector<float>> results;
    for (const int first : {0, 37}) {
      const TestActivations x({vectors.begin() + first, vectors.end()});
      const DeviceArray<float> y((kVectors - first) * kMatrixRows);
      PromptProduct product = {.rows = kVectors - first, .x = x.device(), .num_outputs = 1};
      product.outputs[0] = {.matrix = {type, kMatrixRows, columns, device_weights.data()},
                            .y = y.data()};
      ASSERT_TRUE(LaunchPromptProduct(product, KernelStream()).ok());
      results.push_back(y.Read());
      results.back().erase(results.back().begin(),
                           results.back().begin() + (37 - first) * kMatrixRows);
    }
    ExpectSameBits(results[1], results[0], std::string(InfoOf(type).name));
  }
}

TEST_F(PromptProductTest, ScalesMovesDividesAndAddsToTheResidual) {
  std::mt19937 random(3);
  constexpr int64_t kColumns = 256;
  constexpr int kVectors = 40;
  const TestActivations x(RandomVectors(kVectors, kColumns, random));
  const std::vector<float> bias = RandomActivations(kMatrixRows, random);
  const std::vector<float> residual = RandomActivations(kVectors * kMatrixRows, random);
  const DeviceArray<float> device_bias(bias);
  const BlockType types[] = {BlockType::kQ4_K, BlockType::kQ4_K, BlockType::kQ8_0};
  std::vector<std::vector<std::byte>> weights;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> device_weights;
  std::vector<std::unique_ptr<DeviceArray<float>>> ys;
  PromptProduct product = {.rows = kVectors, .x = x.device()};
  for (const BlockType type : types) {
    weights.push_back(RandomWeights(type, kMatrixRows * kColumns, random));
    device_weights.push_back(std::make_unique<DeviceArray<std::byte>>(weights.back()));
    ys.push_back(std::make_unique<DeviceArray<float>>(residual));
    product.outputs[product.num_outputs++] = {
        .matrix = {type, kMatrixRows, kColumns, device_weights.back()->data(), 0.3f,
                   device_bias.data()},
        .y = ys.back()->data(),
        .divisor = 1.7f,
        .residual = ys.back()->data(),
        .residual_scale = 0.9f};
  }
  ASSERT_TRUE(LaunchPromptProduct(product, KernelStream()).ok());
  for (size_t i = 0; i < ys.size(); ++i) {
    std::vector<float> expected =
        ProductsOfCpu({types[i], kMatrixRows, kColumns, weights[i].data()}, x, kVectors);
    for (size_t k = 0; k < expected.size(); ++k) {
      float value = f32::Add(f32::Mul(expected[k], 0.3f), bias[k % kMatrixRows]);
      value = f32::Div(value, 1.7f);
      expected[k] = f32::Add(residual[k], f32::Mul(0.9f, value));
    }
    ExpectSameBits(ys[i]->Read(), expected, std::string(InfoOf(types[i]).name));
  }
}

TEST_F(PromptProductTest, ReportsTheRowOfAProductThatIsNotFinite) {
  std::mt19937 random(4);
  constexpr int64_t kColumns = 256;
  std::vector<std::byte> weights = RandomWeights(BlockType::kQ8_0, kMatrixRows * kColumns, random);
  const uint16_t infinity = 0x7c00;
  std::memcpy(&weights[150 * (kColumns / 32) * 34], &infinity, sizeof(infinity));
  const DeviceArray<std::byte> device_weights(weights);
  const TestActivations x(RandomVectors(20, kColumns, random));
  const DeviceArray<float> y(20 * kMatrixRows);
  const DeviceFault fault;
  PromptProduct product = {.rows = 20, .x = x.device(), .num_outputs = 1};
  product.outputs[0] = {.matrix = {BlockType::kQ8_0, kMatrixRows, kColumns, device_weights.data()},
                        .y = y.data(),
                        .fault = fault.report(7)};
  ASSERT_TRUE(LaunchPromptProduct(product, KernelStream()).ok());
  EXPECT_EQ(fault.Read(), EncodeFault(7, 0));
}

}  // namespace
}  // namespace strata
