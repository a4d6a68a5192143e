// The same product on each instruction set, compared byte for byte with the scalar one: every type
// of weights, few and many rows and vectors, ordinary and extreme values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {
namespace {

constexpr int kRows = 37;     // Two panels of 16 and a part of one.
constexpr int kVectors = 15;  // 8 + 4 + 2 + 1: every width of the kernels.

using Bytes = std::vector<std::byte>;
using Values = std::vector<float>;

std::vector<BlockType> TypesOfWeights() {
  std::vector<BlockType> types;
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (ActivationFormOf(info.type).has_value()) types.push_back(info.type);
  }
  return types;
}

void SetHalf(uint16_t half, std::byte* at) { std::memcpy(at, &half, sizeof(half)); }

// Scales at the ends of f16 (of both signs), and subnormal ones; other numbers likewise.
Bytes WithExtremeScales(BlockType type, Bytes weights, std::mt19937& random) {
  constexpr uint16_t kHalves[] = {0x7bff, 0xfbff, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0000, 0x8000};
  constexpr uint8_t kExponents[] = {0, 1, 2, 127, 150};
  const ScaleOffsets offsets = ScaleOffsetsOf(type);
  const int block_bytes = InfoOf(type).block_bytes;
  for (size_t block = 0; block < weights.size(); block += block_bytes) {
    std::byte* at = &weights[block];
    if (offsets.scale >= 0) SetHalf(kHalves[random() % 8], at + offsets.scale);
    if (offsets.min_scale >= 0) SetHalf(kHalves[random() % 8], at + offsets.min_scale);
    if (type == BlockType::kMXFP4) at[0] = std::byte{kExponents[random() % 5]};
  }
  return weights;
}

// Everything but the scales is one repeated byte.
Bytes WithEqualCodes(BlockType type, Bytes weights, std::byte code) {
  const ScaleOffsets offsets = ScaleOffsetsOf(type);
  const int block_bytes = InfoOf(type).block_bytes;
  if (offsets.scale < 0 || block_bytes == 2) return weights;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int at = static_cast<int>(i % block_bytes);
    const bool is_scale =
        at / 2 == offsets.scale / 2 || (offsets.min_scale >= 0 && at / 2 == offsets.min_scale / 2);
    if (!is_scale) weights[i] = code;
  }
  return weights;
}

struct Case {
  std::string name;
  Bytes weights;
  std::vector<Values> xs;
};

std::vector<Values> RandomVectors(int columns, std::mt19937& random) {
  std::vector<Values> xs;
  for (int v = 0; v < kVectors; ++v) xs.push_back(RandomActivations(columns, random));
  return xs;
}

// Zeros of both signs, subnormals, tiny and huge values: one kind a vector, then mixtures.
std::vector<Values> ExtremeVectors(int columns, std::mt19937& random) {
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  constexpr float kSpecial[] = {0.0f,   -0.0f, kDenormal, -1e-39f, 0x1p-101f, -0x1p-100f,
                                1e-20f, 1e25f, -1e25f,    1.0f,    -127.0f};
  std::vector<Values> xs;
  for (int v = 0; v < kVectors; ++v) {
    Values x(columns);
    for (float& value : x) value = kSpecial[(v < 11 ? v : random()) % 11];
    xs.push_back(x);
  }
  return xs;
}

std::vector<Case> CasesOf(BlockType type, int columns) {
  std::mt19937 random(11);
  const Bytes weights = RandomWeights(type, int64_t{kRows} * columns, random);
  const std::vector<Values> xs = RandomVectors(columns, random);
  return {
      {"random", weights, xs},
      {"extreme scales", WithExtremeScales(type, weights, random), xs},
      {"zero bytes", Bytes(weights.size()), xs},
      {"largest codes", WithEqualCodes(type, weights, std::byte{0xff}), xs},
      {"most negative codes", WithEqualCodes(type, weights, std::byte{0x80}), xs},
      {"extreme activations", weights, ExtremeVectors(columns, random)},
  };
}

// A product of one case, with all its memory.
class Product {
 public:
  Product(BlockType type, int columns, const Case& input)
      : weights_({type, kRows, columns, input.weights.data()}), buffers_(kVectors) {
    for (int v = 0; v < kVectors; ++v) {
      EXPECT_TRUE(buffers_[v].Assign(*ActivationFormOf(type), input.xs[v]));
      xs_.push_back(buffers_[v].view());
    }
  }

  // results[v][r] of the first `num_vectors`; other rows are left as they are, 0.
  std::vector<Values> Run(Isa isa, RowRange rows, int num_vectors) {
    SetIsa(isa);
    std::vector<Values> results(num_vectors, Values(kRows));
    std::vector<float*> ys;
    for (Values& y : results) ys.push_back(y.data());
    EXPECT_TRUE(MatMul(weights_, rows, absl::MakeSpan(xs_).first(num_vectors), ys));
    return results;
  }

 private:
  const WeightMatrix weights_;
  std::vector<ActivationBuffer> buffers_;
  std::vector<ActivationView> xs_;
};

void ExpectSameBits(const std::vector<Values>& found, const std::vector<Values>& expected,
                    RowRange rows, const std::string& what) {
  for (size_t v = 0; v < found.size(); ++v) {
    for (int64_t r = 0; r < kRows; ++r) {
      const float wanted = rows.begin <= r && r < rows.end ? expected[v][r] : 0.0f;
      ASSERT_EQ(std::memcmp(&found[v][r], &wanted, sizeof(float)), 0)
          << what << ", vector " << v << " of " << found.size() << ", row " << r << " of ["
          << rows.begin << ", " << rows.end << "): " << found[v][r] << " is not " << wanted;
    }
  }
}

std::vector<int> ColumnsOf(BlockType type) {
  const int block = InfoOf(type).block_weights;
  if (block == 1) return {1, 7, 64, 77, 128, 300, 520};
  if (block == 256) return {256, 768};
  return {block, 3 * block, 512 + block};  // The last group is a part of one.
}

class MatMulIsaTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!IsSupported(GetParam())) GTEST_SKIP() << "this machine has no " << NameOf(GetParam());
  }
  void TearDown() override { SetIsa(BestIsa()); }
};

TEST_P(MatMulIsaTest, GivesTheBitsOfTheScalarProductForEveryType) {
  constexpr RowRange kAll = {0, kRows};
  constexpr RowRange kRanges[] = {kAll, {5, 6}, {2, 5}, {1, 18}};
  for (BlockType type : TypesOfWeights()) {
    for (int columns : ColumnsOf(type)) {
      for (const Case& input : CasesOf(type, columns)) {
        Product product(type, columns, input);
        const std::vector<Values> expected = product.Run(Isa::kScalar, kAll, kVectors);
        const std::string what =
            std::string(InfoOf(type).name) + ", " + std::to_string(columns) + ", " + input.name;
        for (int num_vectors : {1, 2, 3, 5, kVectors}) {
          for (RowRange rows : kRanges) {
            ExpectSameBits(product.Run(GetParam(), rows, num_vectors), expected, rows, what);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(MatMulIsaTest, ReportsAScaleThatIsNotFinite) {
  std::mt19937 random(12);
  for (BlockType type : TypesOfWeights()) {
    const ScaleOffsets offsets = ScaleOffsetsOf(type);
    if (offsets.scale < 0) continue;
    const int columns = std::max(InfoOf(type).block_weights, 256);
    Bytes weights = RandomWeights(type, int64_t{kRows} * columns, random);
    const WeightMatrix matrix = {type, kRows, columns, weights.data()};
    SetHalf(0x7c00, &weights[9 * matrix.row_bytes() + offsets.scale]);
    const Values x = RandomActivations(columns, random);
    ActivationBuffer buffer;
    ASSERT_TRUE(buffer.Assign(*ActivationFormOf(type), x));
    for (int num_vectors : {1, 8}) {
      const std::vector<ActivationView> xs(num_vectors, buffer.view());
      std::vector<Values> results(num_vectors, Values(kRows));
      std::vector<float*> ys;
      for (Values& y : results) ys.push_back(y.data());
      SetIsa(GetParam());
      EXPECT_FALSE(MatMul(matrix, {0, kRows}, xs, ys)) << InfoOf(type).name;
      EXPECT_TRUE(MatMul(matrix, {10, kRows}, xs, ys)) << InfoOf(type).name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfX86, MatMulIsaTest, testing::Values(Isa::kAvx2, Isa::kAvx512),
                         [](const testing::TestParamInfo<Isa>& info) {
                           return std::string(NameOf(info.param));
                         });

}  // namespace
}  // namespace strata
