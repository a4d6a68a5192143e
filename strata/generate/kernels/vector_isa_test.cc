// All that is computed between the products, on each instruction set, compared byte for byte with
// the scalar one.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/causal_convolution.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/softmax.h"
#include "strata/generate/kernels/vector_math.h"

namespace strata {
namespace {

using Values = std::vector<float>;

constexpr int kSizes[] = {1, 2, 15, 16, 17, 64, 77, 96, 127, 128, 129, 192, 300, 512};

// Ordinary values among zeros of both signs, subnormals, tiny and large ones.
Values Mixture(int size, std::mt19937& random) {
  constexpr float kSpecial[] = {0.0f,   -0.0f, 1e-45f, -1e-40f, 0x1p-126f, 1e-20f,
                                -1e-7f, 87.5f, -88.0f, 1e4f,    -3e9f,     0.5f};
  std::normal_distribution<float> normal;
  Values x(size);
  for (float& value : x) value = random() % 4 == 0 ? kSpecial[random() % 12] : normal(random);
  return x;
}

template <typename T>
void Append(const std::vector<T>& values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

class VectorIsaTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!IsSupported(GetParam())) GTEST_SKIP() << "this machine has no " << NameOf(GetParam());
  }
  void TearDown() override { SetIsa(BestIsa()); }

  // `compute` gives bytes from a vector of each size and a source of more random numbers.
  template <typename Compute>
  void ExpectTheBitsOfScalar(Compute compute) {
    for (int size : kSizes) {
      for (uint32_t seed = 0; seed < 20; ++seed) {
        std::string bytes[2];
        for (int i = 0; i < 2; ++i) {
          SetIsa(i == 0 ? Isa::kScalar : GetParam());
          std::mt19937 random(seed);
          const Values x = Mixture(size, random);
          bytes[i] = compute(x, random);
        }
        ASSERT_EQ(bytes[0], bytes[1]) << size << " values, seed " << seed;
      }
    }
  }
};

TEST_P(VectorIsaTest, SumsAndMultiplies) {
  ExpectTheBitsOfScalar([](const Values& x, std::mt19937& random) {
    constexpr int kRows = 19;
    const int n = static_cast<int>(x.size());
    const Values rows = Mixture(kRows * n, random);
    Values dots(kRows);
    DotRows(x, rows.data(), absl::MakeSpan(dots));
    Values weighted(n);
    SumWeightedRows(dots, rows.data(), absl::MakeSpan(weighted));
    Values beginnings(n / 2);
    SumWeightedRows(dots, rows.data(), /*stride=*/n, absl::MakeSpan(beginnings));
    EXPECT_EQ(beginnings, Values(weighted.begin(), weighted.begin() + n / 2));
    AddWeighted(-0.3f, x, absl::MakeSpan(weighted));
    AddProduct(0.22f, x, absl::MakeSpan(weighted));
    Join(0.9f, 1e-3f, x, absl::MakeSpan(weighted));
    Scale(0.1f, absl::MakeSpan(weighted));
    dots.push_back(Sum(x));
    dots.push_back(Max(x));
    dots.push_back(Dot(x, absl::MakeConstSpan(rows).first(n)));
    std::string bytes;
    Append(dots, bytes);
    Append(weighted, bytes);
    return bytes;
  });
}

TEST_P(VectorIsaTest, FindsTheFirstOfTheGreatestAndWhatIsNotFinite) {
  if (!IsSupported(GetParam())) return;
  SetIsa(GetParam());
  for (int size : kSizes) {
    Values x(size, -2.0f);
    EXPECT_EQ(ArgMax(x), 0);
    x[size / 2] = -0.0f;
    x[size - 1] = 0.0f;  // Equal to -0.
    EXPECT_EQ(ArgMax(x), size / 2);
    EXPECT_TRUE(AreFinite(x));
    for (float bad : {INFINITY, -INFINITY, std::nanf("")}) {
      x[size / 3] = bad;
      EXPECT_FALSE(AreFinite(x)) << bad << " among " << size;
    }
  }
}

TEST_P(VectorIsaTest, NormalizesAndActivates) {
  ExpectTheBitsOfScalar([](const Values& x, std::mt19937& random) {
    const Values other = Mixture(static_cast<int>(x.size()), random);
    Values soft = x;
    Softmax(absl::MakeSpan(soft), 0.25f);
    Values normed(x.size());
    RmsNorm(x, other, 1e-6f, absl::MakeSpan(normed));
    Values plain = x;
    RmsNorm(plain, {}, 1e-6f, absl::MakeSpan(plain));
    Values gated = x;
    ApplyGate(GatedActivation::kSilu, gated, other, absl::MakeSpan(gated));
    Values opened = x;
    ApplyGate(GatedActivation::kSigmoid, opened, other, absl::MakeSpan(opened));
    ApplySilu(absl::MakeSpan(soft));
    MultiplyInto(x, absl::MakeSpan(soft));
    const float* const taps[] = {other.data(), nullptr, x.data()};
    const Values taps_weights = Mixture(3 * static_cast<int>(x.size()), random);
    Values convolved(x.size());
    Convolve(taps_weights, taps, absl::MakeSpan(convolved));
    Values clamped(x.size());
    ApplyGate(GatedActivation::kClampedSwiglu, x, other, absl::MakeSpan(clamped));
    Values gelu(x.size());
    ApplyGate(GatedActivation::kGelu, x, other, absl::MakeSpan(gelu));
    Values capped = x;
    CapSoftly(30.0f, absl::MakeSpan(capped));
    std::string bytes;
    for (const Values& values :
         {soft, normed, plain, gated, opened, convolved, clamped, gelu, capped}) {
      Append(values, bytes);
    }
    return bytes;
  });
}

TEST_P(VectorIsaTest, ConvertsHalves) {
  ExpectTheBitsOfScalar([](const Values& x, std::mt19937& random) {
    std::vector<uint16_t> halves(x.size());
    FloatsToHalves(x, absl::MakeSpan(halves));
    for (size_t i = 0; i < halves.size(); i += 2) {
      halves[i] = static_cast<uint16_t>(random() & 0xfbff);  // Any half but infinity and NaN.
    }
    Values floats(x.size());
    HalvesToFloats(halves, absl::MakeSpan(floats));
    std::string bytes;
    Append(halves, bytes);
    Append(floats, bytes);
    return bytes;
  });
}

TEST_P(VectorIsaTest, QuantizesActivations) {
  ExpectTheBitsOfScalar([](const Values& x, std::mt19937& random) {
    std::string bytes;
    ActivationBuffer buffer;
    for (ActivationForm form : {ActivationForm::kA32, ActivationForm::kA256}) {
      const int block = BlockSizeOf(form);
      const Values blocks = Mixture(static_cast<int>(x.size()) * block, random);
      EXPECT_TRUE(buffer.Assign(form, blocks));
      const ActivationView& view = buffer.view();
      Append(std::vector<int8_t>(view.q, view.q + view.size), bytes);
      Append(Values(view.scales, view.scales + view.size / block), bytes);
      Append(std::vector<int16_t>(view.sums, view.sums + view.size / SumSizeOf(form)), bytes);
    }
    return bytes;
  });
}

TEST_P(VectorIsaTest, FindsActivationsThatAreNotFinite) {
  SetIsa(GetParam());
  ActivationBuffer buffer;
  for (ActivationForm form : {ActivationForm::kF32, ActivationForm::kA32, ActivationForm::kA256}) {
    for (size_t at : {size_t{0}, size_t{300}, size_t{511}}) {
      Values x(512, 1.0f);
      x[at] = -std::numeric_limits<float>::infinity();
      EXPECT_FALSE(buffer.Assign(form, x)) << at;
      x[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_FALSE(buffer.Assign(form, x)) << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfX86, VectorIsaTest, testing::Values(Isa::kAvx2, Isa::kAvx512),
                         [](const testing::TestParamInfo<Isa>& info) {
                           return std::string(NameOf(info.param));
                         });

}  // namespace
}  // namespace strata
