#include "strata/generate/cpu/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kTile = KvPool::kPagePositions;

// The sink as a key without a value, then the division.
void Finish(const float* sink, float max, float sum, absl::Span<float> out) {
  float scale = 1.0f;
  if (sink != nullptr) {
    const float new_max = std::max(max, *sink);
    scale = f32::Exp(f32::Sub(max, new_max));
    sum = f32::Fma(sum, scale, f32::Exp(f32::Sub(*sink, new_max)));
  }
  for (float& value : out) value = f32::Div(f32::Mul(value, scale), sum);
}

}  // namespace

void Attention::Attend(const AttentionShape& shape, const KvState& state, int layer, int kv_head,
                       int64_t position, absl::Span<const float> queries,
                       absl::Span<const float> sinks, absl::Span<float> out) {
  CHECK_EQ(shape.num_heads % shape.kv.num_heads, 0);
  const int group = shape.num_heads / shape.kv.num_heads;
  const int first_head = kv_head * group;
  keys_.resize(kTile * shape.kv.key_size);
  values_.resize(kTile * shape.kv.value_size);
  tile_out_.resize(shape.kv.value_size);
  const int64_t first = shape.window == 0 ? 0 : std::max<int64_t>(0, position - shape.window + 1);
  heads_.assign(group, Head());
  for (int64_t tile = first / kTile; tile <= position / kTile; ++tile) {
    const int begin = static_cast<int>(std::max<int64_t>(0, first - tile * kTile));
    const int end = static_cast<int>(std::min<int64_t>(kTile, position - tile * kTile + 1));
    const Tile rows = {.begin = begin,
                       .end = end,
                       .keys = state.Keys(layer, kv_head, tile, end, keys_.data()),
                       .values = state.Values(layer, kv_head, tile, end, values_.data())};
    for (int i = 0; i < group; ++i) {
      const int head = first_head + i;
      AddTile(shape, rows, &queries[head * shape.kv.key_size], heads_[i],
              out.subspan(head * shape.kv.value_size, shape.kv.value_size));
    }
  }
  for (int i = 0; i < group; ++i) {
    const int head = first_head + i;
    Finish(sinks.empty() ? nullptr : &sinks[head], heads_[i].max, heads_[i].sum,
           out.subspan(head * shape.kv.value_size, shape.kv.value_size));
  }
}

void Attention::AddTile(const AttentionShape& shape, const Tile& tile, const float* query,
                        Head& head, absl::Span<float> out) {
  const size_t count = static_cast<size_t>(tile.end - tile.begin);
  float scores[kTile];
  const absl::Span<float> weights = absl::MakeSpan(scores, count);
  DotRows(absl::MakeConstSpan(query, shape.kv.key_size),
          tile.keys + int64_t{tile.begin} * shape.kv.key_size, weights);
  Scale(shape.scale, weights);
  const float tile_max = Max(weights);
  ExpOfDifference(tile_max, weights);
  const float tile_sum = Sum(weights);

  const absl::Span<float> to = head.is_empty ? out : absl::MakeSpan(tile_out_);
  SumWeightedRows(weights, tile.values + int64_t{tile.begin} * shape.kv.value_size, to);
  if (head.is_empty) {
    head = {.max = tile_max, .sum = tile_sum, .is_empty = false};
    return;
  }
  const float max = std::max(head.max, tile_max);
  const float old_scale = f32::Exp(f32::Sub(head.max, max));
  const float tile_scale = f32::Exp(f32::Sub(tile_max, max));
  head.sum = f32::Fma(head.sum, old_scale, f32::Mul(tile_sum, tile_scale));
  Join(old_scale, tile_scale, to, out);
  head.max = max;
}

}  // namespace strata
