#include "strata/generate/kernels/cuda/prepare_heads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/kv_pages.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/rotary_options.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr float kEpsilon = 1e-6f;
constexpr int kPositions[] = {0, 63, 64, 190};
constexpr int kNumRows = 4;

// What the cache makes of a row.
std::vector<float> Stored(KvFormat format, absl::Span<const float> row) {
  std::vector<float> stored(row.begin(), row.end());
  if (format == KvFormat::kF16) {
    for (float& value : stored) value = f32::FromF16(f32::ToF16(value));
  }
  if (format != KvFormat::kInt8) return stored;
  for (size_t begin = 0; begin < row.size(); begin += 32) {
    const size_t count = std::min<size_t>(32, row.size() - begin);
    std::vector<float> block(32, 0.0f);
    std::copy_n(row.begin() + begin, count, block.begin());
    int8_t q[32];
    float scale;
    int16_t sum;
    EXPECT_TRUE(QuantizeA32(block, q, &scale, &sum));
    for (size_t i = 0; i < count; ++i) stored[begin + i] = f32::Mul(scale, f32::FromInt(q[i]));
  }
  return stored;
}

class PrepareHeadsTest : public KernelTest {
 protected:
  struct Case {
    KvFormat format = KvFormat::kF16;
    int num_heads = 4;
    int num_kv_heads = 2;
    int key_size = 64;
    int value_size = 64;
    bool has_norm = true;
    bool over_all_heads = false;
    RotaryPairing pairing = RotaryPairing::kNeox;
    int num_dims = 64;
  };

  // Queries, keys and values of a row lie behind each other, as one product gives them.
  void Check(const Case& c) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(c.format) << ", heads of " << c.key_size
                                    << " and " << c.value_size << ", " << c.num_dims << " turn");
    const int query_size = c.num_heads * c.key_size;
    const int key_size = c.num_kv_heads * c.key_size;
    const int value_size = c.num_kv_heads * c.value_size;
    const int stride = query_size + key_size + value_size;
    std::vector<float> projected = RandomValues(kNumRows * stride);
    const std::vector<float> query_norm = RandomValues(c.over_all_heads ? query_size : c.key_size);
    const std::vector<float> key_norm = RandomValues(c.over_all_heads ? key_size : c.key_size);
    const RotaryOptions options = {.num_dims = std::max(2, c.num_dims)};
    RotaryTable rotary(options);
    rotary.ExtendTo(200);
    const KvLayer layer = {.format = c.format,
                           .num_heads = c.num_kv_heads,
                           .key_size = c.key_size,
                           .value_size = c.value_size,
                           .offset = 256};
    KvPages pages(layer, 2, 3);
    pages.Shuffle(random_);
    pages.Upload();
    std::vector<float> angles;
    DeviceStep step;
    for (int row = 0; row < kNumRows; ++row) {
      step.rows[row] = {.position = kPositions[row], .first_page = pages.first_page(row % 2)};
      const auto cosines = rotary.Cosines(kPositions[row]);
      const auto sines = rotary.Sines(kPositions[row]);
      angles.insert(angles.end(), cosines.begin(), cosines.end());
      angles.insert(angles.end(), sines.begin(), sines.end());
    }
    const DeviceArray<DeviceStep> device_step(std::vector<DeviceStep>{step});
    const DeviceArray<float> device_projected(projected), device_angles(angles);
    const DeviceArray<float> query_norms(query_norm), key_norms(key_norm);
    const DeviceArray<float> queries(kNumRows * query_size);
    const auto norm_of = [&](const DeviceArray<float>& weights) -> DeviceHeadNorm {
      return {.weight = c.has_norm ? weights.data() : nullptr, .over_all_heads = c.over_all_heads};
    };
    ASSERT_TRUE(PrepareHeads({.num_rows = kNumRows,
                              .num_heads = c.num_heads,
                              .kv = layer,
                              .query = {device_projected.data(), stride},
                              .key = {device_projected.data() + query_size, stride},
                              .value = {device_projected.data() + query_size + key_size, stride},
                              .query_norm = norm_of(query_norms),
                              .key_norm = norm_of(key_norms),
                              .epsilon = kEpsilon,
                              .rotation = {.pairing = c.pairing,
                                           .num_dims = c.num_dims,
                                           .angles = device_angles.data()},
                              .step = device_step.data(),
                              .page_table = pages.table(),
                              .queries = queries.data(),
                              .fault = fault()},
                             stream_)
                    .ok());
    FinishKernels();
    pages.Download();
    EXPECT_EQ(ReadFault(), kNoFault);

    const std::vector<float> found_queries = queries.Read();
    for (int row = 0; row < kNumRows; ++row) {
      const auto of_row = absl::MakeSpan(projected).subspan(row * stride, stride);
      const auto query = of_row.subspan(0, query_size);
      const auto key = of_row.subspan(query_size, key_size);
      const auto value = of_row.subspan(query_size + key_size, value_size);
      PrepareOnCpu(c, query_norm, rotary, kPositions[row], query);
      PrepareOnCpu(c, key_norm, rotary, kPositions[row], key);
      for (int i = 0; i < query_size; ++i) {
        ASSERT_EQ(f32::Bits(found_queries[row * query_size + i]), f32::Bits(query[i])) << i;
      }
      for (int head = 0; head < c.num_kv_heads; ++head) {
        const auto keys = Stored(c.format, key.subspan(head * c.key_size, c.key_size));
        const auto values = Stored(c.format, value.subspan(head * c.value_size, c.value_size));
        for (int i = 0; i < c.key_size; ++i) {
          ASSERT_EQ(pages.key(row % 2, kPositions[row], head, i), keys[i]) << head << ", " << i;
        }
        for (int i = 0; i < c.value_size; ++i) {
          ASSERT_EQ(pages.value(row % 2, kPositions[row], head, i), values[i]) << head << ", " << i;
        }
      }
    }
  }

 private:
  static void PrepareOnCpu(const Case& c, const std::vector<float>& norm, const RotaryTable& rotary,
                           int position, absl::Span<float> heads) {
    if (c.has_norm && c.over_all_heads) RmsNorm(heads, norm, kEpsilon, heads);
    for (; !heads.empty(); heads.remove_prefix(c.key_size)) {
      const auto head = heads.subspan(0, c.key_size);
      if (c.has_norm && !c.over_all_heads) RmsNorm(head, norm, kEpsilon, head);
      if (c.num_dims == 0) continue;
      Rotate(c.pairing, rotary.Cosines(position), rotary.Sines(position), head.data());
    }
  }
};

TEST_F(PrepareHeadsTest, HasTheBitsOfTheCpuInEveryFormat) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kInt8}) {
    Check({.format = format});
    Check({.format = format, .key_size = 128, .value_size = 128, .num_dims = 128});
    Check({.format = format, .key_size = 80, .value_size = 40, .num_dims = 80});
    Check({.format = format, .key_size = 256, .value_size = 256, .num_dims = 64});
  }
}

TEST_F(PrepareHeadsTest, NormsAndTurnsAsTheModelAsks) {
  Check({.has_norm = false});
  Check({.num_heads = 8, .over_all_heads = true});
  Check({.pairing = RotaryPairing::kNorm});
  Check({.key_size = 128, .pairing = RotaryPairing::kNorm, .num_dims = 40});
  Check({.key_size = 128, .num_dims = 96});
  Check({.has_norm = false, .num_dims = 0});
  Check({.num_heads = 1, .num_kv_heads = 1, .key_size = 8, .value_size = 8, .num_dims = 8});
}

TEST_F(PrepareHeadsTest, ReportsValuesThatTheCacheCannotHold) {
  struct Bad {
    KvFormat format;
    float value;
    uint32_t fault;
  };
  for (const Bad& bad :
       {Bad{KvFormat::kF16, 65520.0f, EncodeFault(kOperation, 0)},
        Bad{KvFormat::kF32, 65520.0f, kNoFault}, Bad{KvFormat::kInt8, 1e30f, kNoFault},
        Bad{KvFormat::kF32, NAN, EncodeFault(kOperation, 0)},
        Bad{KvFormat::kInt8, INFINITY, EncodeFault(kOperation, 0)}}) {
    SetUp();
    const KvLayer layer = {.format = bad.format, .num_heads = 1, .key_size = 8, .value_size = 8};
    KvPages pages(layer, 1, 1);
    pages.Upload();
    std::vector<float> projected = RandomValues(24);
    projected[20] = bad.value;
    const DeviceArray<float> device_projected(projected), queries(8);
    const DeviceArray<DeviceStep> step(std::vector<DeviceStep>{DeviceStep()});
    ASSERT_TRUE(PrepareHeads({.num_rows = 1,
                              .num_heads = 1,
                              .kv = layer,
                              .query = {device_projected.data(), 24},
                              .key = {device_projected.data() + 8, 24},
                              .value = {device_projected.data() + 16, 24},
                              .epsilon = kEpsilon,
                              .step = step.data(),
                              .page_table = pages.table(),
                              .queries = queries.data(),
                              .fault = fault()},
                             stream_)
                    .ok());
    FinishKernels();
    EXPECT_EQ(ReadFault(), bad.fault) << bad.value;
  }
}

}  // namespace
}  // namespace strata
