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

int KvHeadOf(const AttentionShape& shape, int head) {
  return head / (shape.num_heads / shape.kv.num_heads);
}

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

void Attention::Attend(const AttentionShape& shape, const KvState& state, int layer, Heads heads,
                       int64_t position, absl::Span<const float> queries,
                       absl::Span<const float> sinks, absl::Span<float> out) {
  Start(shape, heads);
  const int kv_head = KvHeadOf(shape, heads.begin);
  const int64_t first = shape.window == 0 ? 0 : std::max<int64_t>(0, position - shape.window + 1);
  for (int64_t tile = first / kTile; tile <= position / kTile; ++tile) {
    const int begin = static_cast<int>(std::max<int64_t>(0, first - tile * kTile));
    const int end = static_cast<int>(std::min<int64_t>(kTile, position - tile * kTile + 1));
    const float* const keys = state.Keys(layer, kv_head, tile, end, keys_.data());
    AddTileToHeads(shape,
                   {.begin = begin,
                    .end = end,
                    .keys = keys,
                    .values = shape.kv.values_in_keys
                                  ? keys
                                  : state.Values(layer, kv_head, tile, end, values_.data())},
                   heads, queries, out);
  }
  FinishHeads(shape, heads, sinks, out);
}

void Attention::AttendTo(const BlockSelection& selection, const AttentionShape& shape,
                         const KvState& state, int layer, Heads heads, int64_t position,
                         absl::Span<const float> queries, absl::Span<const float> sinks,
                         absl::Span<float> out) {
  CHECK(!shape.kv.values_in_keys && shape.window == 0);
  Start(shape, heads);
  const int kv_head = KvHeadOf(shape, heads.begin);
  int count = 0;
  const auto add_rows = [&](int64_t from, int num_rows) {
    state.CopyKeys(layer, kv_head, from, num_rows, &keys_[int64_t{count} * shape.kv.key_size]);
    state.CopyValues(layer, kv_head, from, num_rows,
                     &values_[int64_t{count} * shape.kv.value_size]);
    count += num_rows;
  };
  const auto add_tile = [&] {
    if (count == 0) return;
    AddTileToHeads(shape,
                   {.begin = 0, .end = count, .keys = keys_.data(), .values = values_.data()},
                   heads, queries, out);
    count = 0;
  };
  for (const int32_t block : selection.blocks) {
    add_rows(int64_t{block} * selection.block_size, selection.block_size);
    if (count == kTile) add_tile();
  }
  if (selection.tail <= position) {
    add_rows(selection.tail, static_cast<int>(position - selection.tail + 1));
  }
  add_tile();
  FinishHeads(shape, heads, sinks, out);
}

void Attention::Start(const AttentionShape& shape, Heads heads) {
  CHECK_EQ(shape.num_heads % shape.kv.num_heads, 0);
  CHECK(heads.begin < heads.end && KvHeadOf(shape, heads.end - 1) == KvHeadOf(shape, heads.begin));
  keys_.resize(kTile * shape.kv.key_size);
  values_.resize(shape.kv.values_in_keys ? 0 : kTile * shape.kv.value_size);
  tile_out_.resize(shape.kv.value_size);
  softmaxes_.assign(heads.end - heads.begin, Softmax());
}

void Attention::AddTileToHeads(const AttentionShape& shape, const Tile& tile, Heads heads,
                               absl::Span<const float> queries, absl::Span<float> out) {
  for (int head = heads.begin; head < heads.end; ++head) {
    AddTile(shape, tile, &queries[head * shape.kv.key_size], softmaxes_[head - heads.begin],
            out.subspan(head * shape.kv.value_size, shape.kv.value_size));
  }
}

void Attention::FinishHeads(const AttentionShape& shape, Heads heads, absl::Span<const float> sinks,
                            absl::Span<float> out) const {
  for (int head = heads.begin; head < heads.end; ++head) {
    const Softmax& softmax = softmaxes_[head - heads.begin];
    Finish(sinks.empty() ? nullptr : &sinks[head], softmax.max, softmax.sum,
           out.subspan(head * shape.kv.value_size, shape.kv.value_size));
  }
}

void Attention::AddTile(const AttentionShape& shape, const Tile& tile, const float* query,
                        Softmax& softmax, absl::Span<float> out) {
  const size_t count = static_cast<size_t>(tile.end - tile.begin);
  float scores[kTile];
  const absl::Span<float> weights = absl::MakeSpan(scores, count);
  DotRows(absl::MakeConstSpan(query, shape.kv.key_size),
          tile.keys + int64_t{tile.begin} * shape.kv.key_size, weights);
  Scale(shape.scale, weights);
  const float tile_max = Max(weights);
  ExpOfDifference(tile_max, weights);
  const float tile_sum = Sum(weights);

  const int64_t stride = shape.kv.value_stride();
  const absl::Span<float> to = softmax.is_empty ? out : absl::MakeSpan(tile_out_);
  SumWeightedRows(weights, tile.values + tile.begin * stride, stride, to);
  if (softmax.is_empty) {
    softmax = {.max = tile_max, .sum = tile_sum, .is_empty = false};
    return;
  }
  const float max = std::max(softmax.max, tile_max);
  const float old_scale = f32::Exp(f32::Sub(softmax.max, max));
  const float tile_scale = f32::Exp(f32::Sub(tile_max, max));
  softmax.sum = f32::Fma(softmax.sum, old_scale, f32::Mul(tile_sum, tile_scale));
  Join(old_scale, tile_scale, to, out);
  softmax.max = max;
}

}  // namespace strata
