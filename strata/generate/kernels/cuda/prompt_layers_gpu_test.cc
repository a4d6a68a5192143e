// What lies between the products of a prompt on a card, against the CPU's kernels, bit for bit.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/prompt_testing.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr float kEpsilon = 1e-6f;

class PromptLayersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }

  std::vector<float> Random(int64_t size) { return RandomActivations(size, random_); }

  std::mt19937 random_{1};
};

absl::Span<const float> RowOf(const std::vector<float>& rows, int64_t row, int64_t size) {
  return absl::MakeConstSpan(rows).subspan(row * size, size);
}

TEST_F(PromptLayersTest, NormHasTheBitsOfTheCpu) {
  for (const int rows : {17, 100, 513}) {
    constexpr int64_t kSize = 768;
    const std::vector<float> x = Random(rows * kSize), part = Random(rows * kSize);
    const std::vector<float> weight = Random(kSize), after = Random(kSize);
    const DeviceArray<float> state(x), device_part(part), device_weight(weight),
        device_after(after);
    const DeviceForms out(rows, kSize);
    const DeviceFault fault;
    NormTask task;
    task.num_rows = rows;
    task.x = state.data();
    task.residual = {device_part.data(), device_after.data(), 0.7f, state.data()};
    task.weight = device_weight.data();
    task.epsilon = kEpsilon;
    task.out = out.forms();
    task.fault = fault.report();
    ASSERT_TRUE(NormPromptRows(task, KernelStream()).ok());
    const std::vector<float> sums = state.Read();
    const std::vector<float> values = out.Values();
    for (int row = 0; row < rows; ++row) {
      std::vector<float> addend(kSize), expected(kSize);
      RmsNorm(RowOf(part, row, kSize), after, kEpsilon, absl::MakeSpan(addend));
      std::vector<float> sum(x.begin() + row * kSize, x.begin() + (row + 1) * kSize);
      AddProduct(0.7f, addend, absl::MakeSpan(sum));
      ASSERT_EQ(std::memcmp(&sums[row * kSize], sum.data(), kSize * 4), 0) << row;
      RmsNorm(sum, weight, kEpsilon, absl::MakeSpan(expected));
      ASSERT_EQ(std::memcmp(&values[row * kSize], expected.data(), kSize * 4), 0) << row;
      if (row % 40 != 0) continue;
      ActivationBuffer buffer;
      ASSERT_TRUE(buffer.Assign(ActivationForm::kA32, expected));
      ASSERT_TRUE(out.Equals(buffer.view(), row)) << row;
      ASSERT_TRUE(buffer.Assign(ActivationForm::kA256, expected));
      ASSERT_TRUE(out.Equals(buffer.view(), row)) << row;
    }
    EXPECT_EQ(fault.Read(), kNoFault);
  }
}

TEST_F(PromptLayersTest, ReportsValuesThatAreNotFiniteByTheirRow) {
  constexpr int kRows = 300;
  std::vector<float> x(kRows * 64, 1.0f);
  x[40 * 64 + 3] = std::numeric_limits<float>::infinity();
  x[290 * 64 + 3] = std::numeric_limits<float>::infinity();
  const DeviceArray<float> values(x);
  const DeviceForms forms(kRows, 64);
  DeviceActivations vectors = forms.forms();
  vectors.values = values.data();
  const DeviceFault fault;
  ASSERT_TRUE(QuantizePromptRows({.num_vectors = kRows,
                                  .vectors = vectors,
                                  .vectors_per_row = 2,
                                  .fault = fault.report(9)},
                                 KernelStream())
                  .ok());
  EXPECT_EQ(fault.Read(), EncodeFault(9, 20));
}

TEST_F(PromptLayersTest, RouterHasTheBitsOfTheCpu) {
  constexpr int64_t kSize = 520;  // Not a multiple of 128.
  for (const int experts : {6, 128, 300}) {
    for (const int rows : {17, 100, 513}) {
      const std::vector<float> x = Random(rows * kSize), weights = Random(experts * kSize);
      RouterOptions options;
      options.num_experts = experts;
      options.num_chosen = 4;
      options.normalize = true;
      options.scale = 1.5f;
      options.gating = rows == 100 ? Gating::kSigmoid : Gating::kSoftmax;
      const DeviceArray<float> device_x(x), device_weights(weights), logits(rows * experts),
          chosen_weights(rows * 4);
      const DeviceArray<int32_t> chosen(rows * 4);
      const DeviceFault fault;
      PromptRouteTask task;
      task.num_rows = rows;
      task.x.size = kSize;
      task.x.values = device_x.data();
      task.router.gating = options.gating;
      task.router.num_experts = experts;
      task.router.num_chosen = 4;
      task.router.normalize = true;
      task.router.scale = 1.5f;
      task.router.weights = device_weights.data();
      task.logits = logits.data();
      task.experts = chosen.data();
      task.weights = chosen_weights.data();
      task.fault = fault.report();
      ASSERT_TRUE(RoutePromptRows(task, KernelStream()).ok());
      const std::vector<float> found = logits.Read(), found_weights = chosen_weights.Read();
      const std::vector<int32_t> found_experts = chosen.Read();
      const Router router(options);
      RouterScratch scratch;
      for (int row = 0; row < rows; ++row) {
        std::vector<float> expected(experts);
        DotRows(RowOf(x, row, kSize), weights.data(), absl::MakeSpan(expected));
        ASSERT_EQ(std::memcmp(&found[row * experts], expected.data(), experts * 4), 0) << row;
        std::vector<ExpertChoice> choice(4);
        router.Choose(expected, scratch, absl::MakeSpan(choice));
        for (int rank = 0; rank < 4; ++rank) {
          ASSERT_EQ(found_experts[row * 4 + rank], choice[rank].expert) << row;
          ASSERT_EQ(f32::Bits(found_weights[row * 4 + rank]), f32::Bits(choice[rank].weight));
        }
      }
      EXPECT_EQ(fault.Read(), kNoFault);
    }
  }
}

// Two sequences, whose pages are scattered.
struct Pages {
  static constexpr int kCount = 12;

  explicit Pages(const KvLayer& kv)
      : bytes(kv.offset + kv.bytes()), memory(kCount * bytes), table(Table()) {}
  std::vector<std::byte*> Table() const {
    std::vector<std::byte*> addresses;
    for (int i = 0; i < kCount; ++i) {
      addresses.push_back(memory.data() + (i * 5 + 3) % kCount * bytes);
    }
    return addresses;
  }
  const int64_t bytes;
  const DeviceArray<std::byte> memory;
  const DeviceArray<std::byte*> table;
};

TEST_F(PromptLayersTest, HeadsAreNormedRotatedAndStoredLikeTheCpus) {
  constexpr int kRows = 170, kHeads = 6, kKeySize = 96, kValueSize = 64;
  const RotaryOptions rotary = {.num_dims = 64};
  RotaryTable table(rotary);
  table.ExtendTo(500);
  PromptRuns runs;
  runs.count = 2;
  runs.runs[0] = {.first_row = 0, .num_rows = 90, .first_position = 50, .first_page = 0};
  runs.runs[1] = {.first_row = 90, .num_rows = 80, .first_position = 0, .first_page = 6};
  std::vector<float> angles;
  for (int row = 0; row < kRows; ++row) {
    const int position = row < 90 ? 50 + row : row - 90;
    for (const auto part : {table.Cosines(position), table.Sines(position)}) {
      angles.insert(angles.end(), part.begin(), part.end());
    }
  }
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kInt8}) {
    const KvLayer kv = {format, 2, kKeySize, kValueSize, 256};
    const Pages pages(kv);
    const std::vector<float> query = Random(kRows * kHeads * kKeySize),
                             key = Random(kRows * 2 * kKeySize),
                             value = Random(kRows * 2 * kValueSize), norm = Random(kKeySize);
    const DeviceArray<float> device_query(query), device_key(key), device_value(value),
        device_norm(norm), device_angles(angles), queries(query.size());
    const DeviceFault fault;
    PromptPrepareTask task;
    task.runs = runs;
    task.num_heads = kHeads;
    task.kv = kv;
    task.query = {device_query.data(), kHeads * kKeySize};
    task.key = {device_key.data(), 2 * kKeySize};
    task.value = {device_value.data(), 2 * kValueSize};
    task.query_norm.weight = device_norm.data();
    task.epsilon = kEpsilon;
    task.rotation = {RotaryPairing::kNeox, 64, device_angles.data()};
    task.page_table = pages.table.data();
    task.queries = queries.data();
    task.fault = fault.report();
    ASSERT_TRUE(PreparePromptHeads(task, KernelStream()).ok());
    float largest = 0;
    for (const float x : value) largest = std::max(largest, std::abs(x));
    const std::vector<float> found = queries.Read();
    const std::vector<std::byte> stored = pages.memory.Read();
    for (int row = 0; row < kRows; ++row) {
      const int position = row < 90 ? 50 + row : row - 90;
      for (int head = 0; head < kHeads; ++head) {
        const int64_t at = (row * kHeads + head) * kKeySize;
        std::vector<float> expected(kKeySize);
        RmsNorm(absl::MakeConstSpan(query).subspan(at, kKeySize), norm, kEpsilon,
                absl::MakeSpan(expected));
        Rotate(RotaryPairing::kNeox, table.Cosines(position), table.Sines(position),
               expected.data());
        ASSERT_EQ(std::memcmp(&found[at], expected.data(), kKeySize * 4), 0) << row;
      }
      const int page = (row < 90 ? 0 : 6) + position / kKvPagePositions;
      const std::byte* const begin = stored.data() + (page * 5 + 3) % Pages::kCount * pages.bytes;
      for (int head = 0; head < 2; ++head) {
        for (int i = 0; i < kValueSize; ++i) {
          const float expected = value[(row * 2 + head) * kValueSize + i];
          const float got = LoadKvValue(format, begin + kv.values_offset(head), kValueSize,
                                        position % kKvPagePositions, i);
          const float nearest =
              format == KvFormat::kF16 ? f32::FromF16(f32::ToF16(expected)) : expected;
          // Half a code of the largest value, at most.
          const float bound = format == KvFormat::kInt8 ? largest / 254 * 1.01f : 0.0f;
          ASSERT_NEAR(got, nearest, bound) << row << ", " << i;
        }
      }
    }
    EXPECT_EQ(fault.Read(), kNoFault);
  }
}

}  // namespace
}  // namespace strata
