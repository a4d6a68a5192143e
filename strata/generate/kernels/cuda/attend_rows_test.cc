#include "strata/generate/kernels/cuda/attend_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/kv_pages.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

struct Case {
  KvFormat format = KvFormat::kF16;
  int num_heads = 8;
  int num_kv_heads = 2;
  int key_size = 128;
  int value_size = 128;
  int64_t window = 0;
  bool has_sinks = false;
  std::vector<int> positions;  // Of each row, in a sequence of its own.

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(key_size)); }
  int out_size() const { return num_heads * value_size; }
};

class AttendRowsTest : public KernelTest {
 protected:
  // Rows of a case with what they attend to.
  struct Scene {
    Case c;
    std::vector<float> queries, sinks;
    std::unique_ptr<KvPages> pages;
  };

  Scene MakeScene(const Case& c) {
    const KvLayer layer = {.format = c.format,
                           .num_heads = c.num_kv_heads,
                           .key_size = c.key_size,
                           .value_size = c.value_size,
                           .offset = 512};
    const int num_rows = static_cast<int>(c.positions.size());
    const int last = *std::max_element(c.positions.begin(), c.positions.end());
    Scene scene = {
        .c = c,
        .queries = RandomValues(num_rows * c.num_heads * c.key_size, 2.0f),
        .sinks = RandomValues(c.num_heads),
        .pages = std::make_unique<KvPages>(layer, num_rows, last / kKvPagePositions + 1)};
    scene.pages->Shuffle(random_);
    for (int row = 0; row < num_rows; ++row) scene.pages->Fill(row, c.positions[row], random_);
    scene.pages->Upload();
    return scene;
  }

  // Rows [first, first + count) of the scene in one step, twice with the same tickets.
  std::vector<float> Attend(const Scene& scene, int first, int count) {
    const Case& c = scene.c;
    const KvLayer layer = {.format = c.format,
                           .num_heads = c.num_kv_heads,
                           .key_size = c.key_size,
                           .value_size = c.value_size,
                           .offset = 512};
    DeviceStep step;
    for (int row = 0; row < count; ++row) {
      step.rows[row] = {.position = c.positions[first + row],
                        .first_page = scene.pages->first_page(first + row)};
    }
    const int64_t row_size = int64_t{c.num_heads} * c.key_size;
    const DeviceArray<DeviceStep> device_step(std::vector<DeviceStep>{step});
    const DeviceArray<float> queries(
        std::vector<float>(scene.queries.begin() + first * row_size,
                           scene.queries.begin() + (first + count) * row_size));
    const DeviceArray<float> sinks(scene.sinks);
    const DeviceArray<float> partials(AttentionPartialFloats(count, c.num_heads, layer));
    DeviceArray<uint32_t> tickets(AttentionTickets(count, c.num_heads, layer));
    tickets.Clear();
    std::vector<float> results[2];
    for (std::vector<float>& result : results) {
      const ActivationArrays out(count, c.out_size());
      const absl::Status status = AttendRows({.num_rows = count,
                                              .num_heads = c.num_heads,
                                              .kv = layer,
                                              .scale = c.scale(),
                                              .window = c.window,
                                              .sinks = c.has_sinks ? sinks.data() : nullptr,
                                              .step = device_step.data(),
                                              .page_table = scene.pages->table(),
                                              .queries = queries.data(),
                                              .partials = partials.data(),
                                              .tickets = tickets.data(),
                                              .begins_early = count > 1,
                                              .out = out.forms(),
                                              .fault = fault()},
                                             stream_);
      EXPECT_TRUE(status.ok()) << status;
      FinishKernels();
      result = out.values();
      out.ExpectForms(result);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(ReadFault(), kNoFault);
    EXPECT_EQ(tickets.Read(), std::vector<uint32_t>(tickets.size(), 0));
    return results[0];
  }

  // In f64.
  static std::vector<double> Reference(const Scene& scene, int row, int head) {
    const Case& c = scene.c;
    const int kv_head = head / (c.num_heads / c.num_kv_heads);
    const int position = c.positions[row];
    const int first = c.window == 0 ? 0 : std::max<int>(0, position - c.window + 1);
    const float* const query = &scene.queries[(row * c.num_heads + head) * c.key_size];
    std::vector<double> scores;
    double max = c.has_sinks ? scene.sinks[head] : -1e300;
    for (int p = first; p <= position; ++p) {
      double dot = 0.0;
      for (int i = 0; i < c.key_size; ++i) {
        dot += static_cast<double>(query[i]) * scene.pages->key(row, p, kv_head, i);
      }
      scores.push_back(dot * c.scale());
      max = std::max(max, scores.back());
    }
    double sum = c.has_sinks ? std::exp(scene.sinks[head] - max) : 0.0;
    std::vector<double> out(c.value_size, 0.0);
    for (int p = first; p <= position; ++p) {
      const double weight = std::exp(scores[p - first] - max);
      sum += weight;
      for (int i = 0; i < c.value_size; ++i) {
        out[i] += weight * scene.pages->value(row, p, kv_head, i);
      }
    }
    for (double& value : out) value /= sum;
    return out;
  }

  // Keys and values of all heads.
  static std::vector<float> StoredAt(const KvPages& pages, const KvLayer& layer, int position) {
    std::vector<float> stored;
    for (int head = 0; head < layer.num_heads; ++head) {
      for (int i = 0; i < layer.key_size; ++i) stored.push_back(pages.key(0, position, head, i));
      for (int i = 0; i < layer.value_size; ++i) {
        stored.push_back(pages.value(0, position, head, i));
      }
    }
    return stored;
  }

  void Check(const Case& c) {
    SCOPED_TRACE(testing::Message()
                 << static_cast<int>(c.format) << ", " << c.num_heads << " / " << c.num_kv_heads
                 << " heads of " << c.key_size << ", " << c.value_size << ", window " << c.window
                 << ", position " << c.positions[0]);
    const Scene scene = MakeScene(c);
    const int num_rows = static_cast<int>(c.positions.size());
    const std::vector<float> together = Attend(scene, 0, num_rows);
    for (int row = 0; row < num_rows; ++row) {
      const auto alone = Attend(scene, row, 1);
      for (int head = 0; head < c.num_heads; ++head) {
        const std::vector<double> expected = Reference(scene, row, head);
        for (int i = 0; i < c.value_size; ++i) {
          const int at = head * c.value_size + i;
          const float found = together[row * c.out_size() + at];
          ASSERT_NEAR(found, expected[i], 4e-6) << "row " << row << ", head " << head << ", " << i;
          ASSERT_EQ(f32::Bits(alone[at]), f32::Bits(found)) << "row " << row << ", " << at;
        }
      }
    }
  }
};

TEST_F(AttendRowsTest, SeesEveryPositionUpToItsOwn) {
  Check({.positions = {0, 1, 7, 8, 15, 16, 63, 64, 127, 128, 129, 200}});
  Check({.key_size = 64, .value_size = 64, .positions = {0, 5, 90, 130, 300}});
}

TEST_F(AttendRowsTest, WorksInEveryFormatAndSize) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kInt8}) {
    for (const int size : {8, 40, 64, 80, 96, 128, 256}) {
      Check({.format = format, .key_size = size, .value_size = size, .positions = {3, 150}});
    }
    Check({.format = format, .key_size = 128, .value_size = 64, .positions = {77}});
    Check({.format = format, .key_size = 48, .value_size = 512, .positions = {40}});
  }
}

TEST_F(AttendRowsTest, DealsHeadsOut) {
  Check({.num_heads = 2, .num_kv_heads = 2, .positions = {70}});
  Check({.num_heads = 8, .num_kv_heads = 1, .positions = {70, 20}});
  Check({.num_heads = 32, .num_kv_heads = 2, .positions = {140}});
  Check({.num_heads = 20, .num_kv_heads = 2, .key_size = 32, .value_size = 32, .positions = {140}});
  Check({.num_heads = 3, .num_kv_heads = 1, .key_size = 40, .value_size = 24, .positions = {31}});
}

TEST_F(AttendRowsTest, LooksThroughWindowsAndAddsSinks) {
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kF32}) {
    for (const int64_t window : {1, 16, 100, 128}) {
      Check({.format = format, .window = window, .positions = {0, 99, 100, 128, 300}});
    }
    Check({.format = format, .has_sinks = true, .positions = {0, 130}});
    Check({.format = format, .window = 20, .has_sinks = true, .positions = {10, 200}});
  }
}

TEST_F(AttendRowsTest, CutsLongContextsIntoLongerTiles) {
  const std::vector<int> positions = {kMaxAttentionTiles * kAttentionRun - 1,
                                      kMaxAttentionTiles * kAttentionRun, 20000};
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kInt8}) {
    Check({.format = format, .num_heads = 2, .num_kv_heads = 1, .positions = positions});
  }
  Check({.num_heads = 2, .num_kv_heads = 1, .window = 9000, .positions = {20000}});
}

TEST_F(AttendRowsTest, DoesNotDependOnHowRowsAreGrouped) {
  Case c = {.num_heads = 16, .num_kv_heads = 2};
  for (int row = 0; row < kMaxRows; ++row) c.positions.push_back(row * row * 9 % 700);
  const Scene scene = MakeScene(c);
  const std::vector<float> all = Attend(scene, 0, kMaxRows);
  for (const int count : {1, 2, 3, 5, 8}) {
    for (int first = 0; first < kMaxRows; first += count) {
      const int left = std::min(count, kMaxRows - first);
      const std::vector<float> some = Attend(scene, first, left);
      for (int i = 0; i < left * c.out_size(); ++i) {
        ASSERT_EQ(f32::Bits(some[i]), f32::Bits(all[first * c.out_size() + i]))
            << first << ", " << i;
      }
    }
  }
}

// Queries, keys and values as projections leave them become ready in a kernel of their own, or in
// attention itself: the same bits, in the output and in the pages.
TEST_F(AttendRowsTest, PreparesTheHeadsOfOneRowItself) {
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kInt8}) {
    for (const int position : {0, 70, 127, 128, 3000, 20000}) {
      for (const int num_heads : {2, 16, 32}) {
        const Case c = {
            .format = format, .num_heads = num_heads, .num_kv_heads = 2, .positions = {position}};
        const bool over_all_heads = position == 70;
        const std::mt19937 before_scene = random_;
        const Scene first_scene = MakeScene(c);
        const KvLayer layer = {.format = format,
                               .num_heads = 2,
                               .key_size = c.key_size,
                               .value_size = c.value_size,
                               .offset = 512};
        ASSERT_TRUE(PreparesHeads(1, layer));
        DeviceStep step;
        step.rows[0] = {.position = position, .first_page = first_scene.pages->first_page(0)};
        const DeviceArray<DeviceStep> device_step(std::vector<DeviceStep>{step});
        const int query_size = num_heads * c.key_size, key_size = 2 * c.key_size;
        const DeviceArray<float> query(RandomValues(query_size)), key(RandomValues(key_size)),
            value(RandomValues(key_size)), angles(RandomValues(64)), queries(query_size),
            query_norm(RandomValues(query_size)), key_norm(RandomValues(key_size)),
            partials(AttentionPartialFloats(1, num_heads, layer));
        DeviceArray<uint32_t> tickets(AttentionTickets(1, num_heads, layer));
        tickets.Clear();
        const PrepareTask prepare = {
            .num_rows = 1,
            .num_heads = num_heads,
            .kv = layer,
            .query = {.values = query.data(), .stride = query_size},
            .key = {.values = key.data(), .stride = key_size},
            .value = {.values = value.data(), .stride = key_size},
            .query_norm = {.weight = query_norm.data(), .over_all_heads = over_all_heads},
            .key_norm = {.weight = key_norm.data(), .over_all_heads = over_all_heads},
            .epsilon = 1e-6f,
            .rotation = {.num_dims = 64, .angles = angles.data()},
            .step = device_step.data(),
            .fault = fault()};
        std::vector<float> outputs[2], stored[2];
        for (const bool by_attention : {false, true}) {
          // With another key and value of the row itself, until they are stored.
          random_ = before_scene;
          const Scene scene = MakeScene(c);
          PrepareTask own = prepare;
          own.page_table = scene.pages->table();
          const ActivationArrays out(1, c.out_size());
          AttendTask task = {.num_rows = 1,
                             .num_heads = num_heads,
                             .kv = layer,
                             .scale = c.scale(),
                             .step = device_step.data(),
                             .page_table = scene.pages->table(),
                             .partials = partials.data(),
                             .tickets = tickets.data(),
                             .begins_early = true,
                             .out = out.forms(),
                             .fault = fault()};
          if (by_attention) {
            task.prepare = own;
          } else {
            own.queries = queries.data();
            ASSERT_TRUE(PrepareHeads(own, stream_).ok());
            task.queries = queries.data();
          }
          ASSERT_TRUE(AttendRows(task, stream_).ok());
          FinishKernels();
          outputs[by_attention] = out.values();
          scene.pages->Download();
          stored[by_attention] = StoredAt(*scene.pages, layer, position);
        }
        EXPECT_EQ(stored[0], stored[1]);
        EXPECT_EQ(outputs[0], outputs[1]) << position << ", " << num_heads << " heads";
        EXPECT_EQ(ReadFault(), kNoFault);
      }
    }
  }
}

TEST(AttentionTilesTest, HaveBordersThatFollowFromThePositionAlone) {
  EXPECT_EQ(TilesOf(0, 0).count, 1);
  EXPECT_EQ(TilesOf(127, 0).count, 1);
  EXPECT_EQ(TilesOf(128, 0).count, 2);
  EXPECT_EQ(TilesOf(8191, 0).count, 64);
  EXPECT_EQ(TilesOf(8192, 0).size(), 256);
  EXPECT_EQ(TilesOf(8192, 0).count, 33);
  EXPECT_EQ(TilesOf(32767, 0).size(), 512);
  EXPECT_EQ(TilesOf(1000, 128).first, 873);
  EXPECT_EQ(TilesOf(1000, 128).first_tile, 6);
  EXPECT_EQ(TilesOf(1000, 128).count, 2);
  EXPECT_EQ(TilesOf(100, 128).first, 0);
  for (int position = 1; position < 300000; position += 997) {
    EXPECT_LE(TilesOf(position, 0).count, kMaxAttentionTiles);
    EXPECT_LE(TilesOf(position, 50000).count, kMaxAttentionTiles);
  }
}

}  // namespace
}  // namespace strata
