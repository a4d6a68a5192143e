#include "strata/generate/cpu/gated_products.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kColumns = 256;
constexpr int kResults = 3;

// Gate and up of one part, made of random weights, with inputs of their own.
struct TestPart {
  TestPart(BlockType type, int64_t width, BlockType down_type, std::mt19937& random)
      : gate(RandomWeights(type, width * kColumns, random)),
        up(RandomWeights(type, width * kColumns, random)),
        part({.gate = {.name = "gate", .weights = {type, width, kColumns, gate.data()}},
              .up = {.name = "up", .weights = {type, width, kColumns, up.data()}},
              .down_type = down_type,
              .down_name = "down"}) {
    for (int i = 0; i < kResults; ++i) {
      values.push_back(RandomActivations(kColumns, random));
      inputs.emplace_back();
      EXPECT_TRUE(inputs.back().Assign(*ActivationFormOf(type), values.back()));
    }
  }

  void AddTo(GatedProducts& gated, int64_t first_result) const {
    gated.AddPart(part);
    for (int i = 0; i < kResults; ++i) {
      gated.AddResult(first_result + i, inputs[i].view(), inputs[i].view());
    }
  }

  // What result i must be, one step after the other.
  void Expect(int i, ActivationBuffer& result, std::vector<float>& memory) const {
    const int64_t width = part.gate.weights.rows;
    memory.resize(width);
    std::vector<float> of_up(width);
    const auto multiply = [&](const WeightMatrix& weights, float* y) {
      return MatMul(weights, {0, width}, absl::MakeConstSpan(&inputs[i].view(), 1),
                    absl::MakeConstSpan(&y, 1));
    };
    ASSERT_TRUE(multiply(part.gate.weights, memory.data()));
    ASSERT_TRUE(multiply(part.up.weights, of_up.data()));
    ApplyGate(part.activation, memory, of_up, absl::MakeSpan(memory));
    ASSERT_TRUE(result.Assign(*ActivationFormOf(part.down_type), memory));
  }

  std::vector<std::byte> gate, up;
  GatedProducts::Part part;
  std::vector<std::vector<float>> values;
  std::vector<ActivationBuffer> inputs;
};

std::string BytesOf(const ActivationView& view) {
  std::string bytes = absl::StrCat(static_cast<int>(view.form), " ", view.size, " ");
  const auto append = [&bytes](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  if (view.form == ActivationForm::kF32) {
    append(view.values, view.size * sizeof(float));
    return bytes;
  }
  append(view.q, view.size);
  append(view.scales, view.size / BlockSizeOf(view.form) * sizeof(float));
  append(view.sums, view.size / SumSizeOf(view.form) * sizeof(int16_t));
  return bytes;
}

class GatedProductsTest : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
  GatedProducts gated_{pool_};
  std::mt19937 random_{7};
};

// Widths of one block, of several, and with a shorter last one, in every form; run after run.
TEST_P(GatedProductsTest, HaveTheBitsOfProductsAndActivationsOneAfterTheOther) {
  std::vector<TestPart> parts;
  parts.emplace_back(BlockType::kQ4_K, 768, BlockType::kQ6_K, random_);
  parts.emplace_back(BlockType::kQ8_0, 640, BlockType::kMXFP4, random_);
  parts.emplace_back(BlockType::kF32, 77, BlockType::kF32, random_);
  for (int run = 0; run < 3; ++run) {
    gated_.Start(static_cast<int64_t>(parts.size()) * kResults, 768);
    for (size_t p = 0; p < parts.size(); ++p) {
      parts[p].AddTo(gated_, static_cast<int64_t>(p) * kResults);
    }
    ASSERT_TRUE(gated_.Run().ok());
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int i = 0; i < kResults; ++i) {
        ActivationBuffer expected;
        std::vector<float> memory;
        parts[p].Expect(i, expected, memory);
        EXPECT_EQ(BytesOf(gated_.result(static_cast<int64_t>(p) * kResults + i)),
                  BytesOf(expected.view()))
            << "part " << p << ", result " << i << ", run " << run;
      }
    }
  }
}

TEST_P(GatedProductsTest, NamesTheMatrixWhoseProductIsNotFinite) {
  TestPart part(BlockType::kF32, 300, BlockType::kF32, random_);
  const float bad = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&part.up[299 * kColumns * sizeof(float)], &bad, sizeof(bad));
  gated_.Start(kResults, 300);
  part.AddTo(gated_, 0);
  const absl::Status status = gated_.Run();
  EXPECT_EQ(ErrorKind(status), "nan_logits");
  EXPECT_THAT(std::string(status.message()), HasSubstr("the product of up"));
}

TEST_P(GatedProductsTest, NamesTheMatrixWhoseInputIsNotFinite) {
  TestPart part(BlockType::kF32, 300, BlockType::kQ8_0, random_);
  // Each product is finite, but not gate times up.
  for (std::vector<std::byte>* weights : {&part.gate, &part.up}) {
    std::vector<float> large(weights->size() / sizeof(float), 1e30f);
    std::memcpy(weights->data(), large.data(), weights->size());
  }
  part.part.gate.weights.rows = part.part.up.weights.rows = 288;
  for (int i = 0; i < kResults; ++i) {
    part.values[i].assign(kColumns, 1.0f);
    ASSERT_TRUE(part.inputs[i].Assign(ActivationForm::kF32, part.values[i]));
  }
  gated_.Start(kResults, 288);
  part.AddTo(gated_, 0);
  EXPECT_THAT(std::string(gated_.Run().message()), HasSubstr("the input of down"));
}

INSTANTIATE_TEST_SUITE_P(Threads, GatedProductsTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace strata
