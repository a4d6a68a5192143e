// Dense products on a card, against the CPU's row dots: every bit of every type.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "cuda_runtime.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/cuda/dense_product.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_launch.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/cuda/test_vectors.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// Random weights of one type, here and on the device.
class TestMatrix {
 public:
  TestMatrix(BlockType type, int64_t rows, int64_t columns, std::mt19937& random)
      : type_(type),
        rows_(rows),
        columns_(columns),
        bytes_(RandomWeights(type, rows * columns, random)),
        device_(bytes_) {}

  DeviceMatrix on_device() const {
    return {.type = type_, .rows = rows_, .columns = columns_, .data = device_.data()};
  }
  // weights x, without scale and bias, of vectors [0, count): [vector][row].
  std::vector<float> Times(const TestVectors& x, int count) const {
    std::vector<float> results(count * rows_);
    const int64_t row_bytes = static_cast<int64_t>(bytes_.size()) / rows_;
    for (int v = 0; v < count; ++v) {
      for (int64_t row = 0; row < rows_; ++row) {
        results[v * rows_ + row] = RowDot(type_, &bytes_[row * row_bytes], x.view(v));
      }
    }
    return results;
  }

 private:
  const BlockType type_;
  const int64_t rows_, columns_;
  const std::vector<std::byte> bytes_;
  const DeviceArray<std::byte> device_;
};

::testing::AssertionResult SameBits(const std::vector<float>& values,
                                    const std::vector<float>& expected, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (f32::Bits(values[i]) == f32::Bits(expected[i])) continue;
    return ::testing::AssertionFailure()
           << "value " << i << " is " << values[i] << ", expected " << expected[i];
  }
  return ::testing::AssertionSuccess();
}

// Whole blocks, no whole groups where the type allows it; rows that begin anywhere.
std::vector<int64_t> WidthsOf(BlockType type) {
  switch (InfoOf(type).block_weights) {
    case 256:
      return {256, 768, 2048, 2560, 8448};
    case 128:
      return {640, 1408, 2048, 2944};
    case 64:
      return {640, 1408, 2048, 2880};
    default:
      return {32, 640, 1408, 2048, 2880, 4096 + 96};
  }
}

class DenseProductGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }

  std::mt19937 random_{1};
  DeviceArray<uint32_t>* fault() {
    if (fault_ == nullptr) fault_ = std::make_unique<DeviceArray<uint32_t>>(1);
    return fault_.get();
  }

 private:
  std::unique_ptr<DeviceArray<uint32_t>> fault_;
};

TEST_F(DenseProductGpuTest, HasTheBitsOfRowDotForEveryTypeAndNumberOfRows) {
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    const std::optional<ActivationForm> form = ActivationFormOf(info.type);
    if (!form.has_value()) continue;
    for (const int64_t columns : WidthsOf(info.type)) {
      constexpr int kRows = 77;
      const TestMatrix matrix(info.type, kRows, columns, random_);
      const TestVectors x(*form, kMaxRows, columns, random_);
      const std::vector<float> expected = matrix.Times(x, kMaxRows);
      const DeviceArray<float> y(kMaxRows * kRows);
      for (int rows = 1; rows <= kMaxRows; ++rows) {
        for (const ProductPlan& plan :
             {ProductPlan{}, ProductPlan{.tile_rows = 4, .threads = 64, .blocks = 3, .vectors = 2},
              ProductPlan{.tile_rows = 32, .vectors = 1, .early_weights = false}}) {
          y.Poison();
          DenseProduct product = {.rows = rows, .x = x.on_device(), .num_outputs = 1};
          product.outputs[0] = {.matrix = matrix.on_device(),
                                .y = y.data(),
                                .fault = {.word = fault()->data(), .operation = 5}};
          const absl::Status status = LaunchDenseProduct(product, {}, plan);
          ASSERT_TRUE(status.ok()) << status;
          ASSERT_TRUE(SameBits(y.Read(), expected, rows * kRows))
              << info.name << ", " << columns << " columns, " << rows << " rows";
        }
      }
    }
  }
  EXPECT_EQ(fault()->Read()[0], kNoFault);
}

TEST_F(DenseProductGpuTest, ScalesAddsBiasDividesAndAddsToTheResidual) {
  for (const int rows : {1, 3}) {
    const TestMatrix q(BlockType::kQ4_K, 200, 512, random_);
    const TestMatrix k(BlockType::kQ4_K, 33, 512, random_);
    const TestMatrix v(BlockType::kQ6_K, 65, 512, random_);
    const TestVectors x(ActivationForm::kA256, rows, 512, random_);
    const DeviceArray<float> bias(RandomActivations(33, random_));
    const std::vector<float> residual = RandomActivations(rows * 65, random_);
    const DeviceArray<float> y_q(rows * 200), y_k(rows * 33), y_v(residual);
    DenseProduct product = {.rows = rows, .x = x.on_device(), .num_outputs = 3};
    product.outputs[0] = {.matrix = q.on_device(), .y = y_q.data(), .divisor = 3.0f};
    product.outputs[1] = {.matrix = k.on_device(), .y = y_k.data()};
    product.outputs[1].matrix.scale = 0.3f;
    product.outputs[1].matrix.bias = bias.data();
    product.outputs[2] = {
        .matrix = v.on_device(), .y = y_v.data(), .residual = y_v.data(), .residual_scale = 0.22f};
    for (DenseOutput& output : product.outputs) output.fault.word = fault()->data();
    ASSERT_TRUE(LaunchDenseProduct(product, {}).ok());

    std::vector<float> expected_q = q.Times(x, rows);
    for (float& value : expected_q) value = f32::Div(value, 3.0f);
    EXPECT_TRUE(SameBits(y_q.Read(), expected_q, expected_q.size()));
    std::vector<float> expected_k = k.Times(x, rows);
    const std::vector<float> addends = bias.Read();
    for (size_t i = 0; i < expected_k.size(); ++i) {
      expected_k[i] = f32::Add(f32::Mul(expected_k[i], 0.3f), addends[i % 33]);
    }
    EXPECT_TRUE(SameBits(y_k.Read(), expected_k, expected_k.size()));
    std::vector<float> expected_v = v.Times(x, rows);
    for (size_t i = 0; i < expected_v.size(); ++i) {
      expected_v[i] = f32::Add(residual[i], f32::Mul(expected_v[i], 0.22f));
    }
    EXPECT_TRUE(SameBits(y_v.Read(), expected_v, expected_v.size()));
  }
}

TEST_F(DenseProductGpuTest, AStepOfOneRowTakesItsVectorAsValues) {
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    const std::optional<ActivationForm> form = ActivationFormOf(info.type);
    if (!form.has_value()) continue;
    for (const int64_t columns : WidthsOf(info.type)) {
      if (!TakesValues(info.type, columns, 1, 1)) continue;
      constexpr int kRows = 77;
      const TestMatrix matrix(info.type, kRows, columns, random_);
      const TestVectors x(*form, 1, columns, random_);
      const std::vector<float> expected = matrix.Times(x, 1);
      const DeviceArray<float> y(kRows);
      for (const ProductPlan& plan :
           {ProductPlan{}, ProductPlan{.tile_rows = 1, .threads = 64},
            ProductPlan{.tile_rows = 32, .threads = 256, .early_weights = false}}) {
        y.Poison();
        DenseProduct product = {.x = {.size = columns, .values = x.on_device().values},
                                .num_outputs = 1};
        product.outputs[0] = {
            .matrix = matrix.on_device(), .y = y.data(), .fault = {.word = fault()->data()}};
        ASSERT_TRUE(LaunchDenseProduct(product, {}, plan).ok());
        ASSERT_TRUE(SameBits(y.Read(), expected, kRows))
            << info.name << ", " << columns << " columns";
      }
    }
  }
  EXPECT_EQ(fault()->Read()[0], kNoFault);
}

TEST_F(DenseProductGpuTest, ReportsTheFirstRowWhoseProductIsNotFinite) {
  constexpr int kRows = 40, kColumns = 256;
  std::vector<std::byte> bytes = RandomWeights(BlockType::kQ8_0, kRows * kColumns, random_);
  bytes[17 * 272 + 1] = std::byte{0x7c};  // The scale of a block in row 17.
  const DeviceArray<std::byte> weights(bytes);
  const TestVectors x(ActivationForm::kA32, 4, kColumns, random_);
  const DeviceArray<float> y(4 * kRows);
  DenseProduct product = {.rows = 4, .x = x.on_device(), .num_outputs = 1};
  product.outputs[0] = {.matrix = {.type = BlockType::kQ8_0,
                                   .rows = kRows,
                                   .columns = kColumns,
                                   .data = weights.data()},
                        .y = y.data(),
                        .fault = {.word = fault()->data(), .operation = 7}};
  ASSERT_TRUE(LaunchDenseProduct(product, {}).ok());
  EXPECT_EQ(fault()->Read()[0], EncodeFault(7, 0));
}

TEST_F(DenseProductGpuTest, IsTheSameWhenKernelsAreLaunchedProgrammatically) {
  // Each product reads what the one before wrote, in place.
  constexpr int kSize = 1024;
  const TestMatrix matrix(BlockType::kF16, kSize, kSize, random_);
  const std::vector<float> start = RandomActivations(2 * kSize, random_);
  std::vector<float> results[2];
  for (const bool programmatic : {false, true}) {
    const DeviceArray<float> a(start), b(2 * kSize);
    cudaStream_t stream;
    CheckCuda(cudaStreamCreate(&stream));
    for (int i = 0; i < 200; ++i) {
      const DeviceArray<float>& from = i % 2 == 0 ? a : b;
      const DeviceArray<float>& to = i % 2 == 0 ? b : a;
      DenseProduct product = {
          .rows = 2, .x = {.size = kSize, .values = from.data()}, .num_outputs = 1};
      product.outputs[0] = {
          .matrix = matrix.on_device(), .y = to.data(), .fault = {.word = fault()->data()}};
      product.outputs[0].matrix.scale = 0.07f;  // So that values stay in range.
      ASSERT_TRUE(
          LaunchDenseProduct(product, {.stream = stream, .programmatic = programmatic}).ok());
    }
    CheckCuda(cudaStreamSynchronize(stream));
    CheckCuda(cudaStreamDestroy(stream));
    results[programmatic] = a.Read();
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)),
            0);
}

}  // namespace
}  // namespace strata
