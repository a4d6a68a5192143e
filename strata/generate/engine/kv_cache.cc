#include "strata/generate/engine/kv_cache.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/engine/kv_row.h"

namespace strata {
namespace {

// `count` rows of `size` values, or the rows themselves where they are f32.
const float* AsF32(KvType type, const std::byte* rows, int64_t row_bytes, int size, int count,
                   float* scratch) {
  if (type == KvType::kF32) return reinterpret_cast<const float*>(rows);
  for (int i = 0; i < count; ++i) {
    DecodeKvRow(type, rows + i * row_bytes, absl::MakeSpan(scratch + int64_t{i} * size, size));
  }
  return scratch;
}

int64_t NumTiles(int64_t num_positions) {
  return (num_positions + KvCache::kTilePositions - 1) / KvCache::kTilePositions;
}

}  // namespace

KvCache::KvCache(KvType type, std::vector<KvShape> layers) : type_(type) {
  for (const KvShape& shape : layers) {
    layers_.push_back({.shape = shape,
                       .key_bytes = KvRowBytes(type, shape.key_size),
                       .value_bytes = KvRowBytes(type, shape.value_size)});
  }
}

void KvCache::Reserve(int64_t num_positions) {
  const auto num_tiles = static_cast<size_t>(NumTiles(num_positions));
  for (Layer& layer : layers_) {
    while (layer.tiles.size() < num_tiles) {
      layer.tiles.push_back(AllocateAligned<std::byte>(layer.tile_bytes()));
    }
  }
}

void KvCache::SetSize(int64_t size) {
  CHECK_GE(size, 0);
  for (const Layer& layer : layers_) {
    CHECK_LE(size, static_cast<int64_t>(layer.tiles.size()) * kTilePositions);
  }
  size_ = size;
}

bool KvCache::Store(int layer, int64_t position, absl::Span<const float> keys,
                    absl::Span<const float> values) {
  Layer& to = layers_[layer];
  const KvShape& shape = to.shape;
  CHECK_EQ(keys.size(), static_cast<size_t>(shape.num_heads * shape.key_size));
  CHECK_EQ(values.size(), static_cast<size_t>(shape.num_heads * shape.value_size));
  CHECK_LT(position / kTilePositions, static_cast<int64_t>(to.tiles.size())) << "not reserved";
  std::byte* const tile = to.tiles[position / kTilePositions].get();
  const int64_t row = position % kTilePositions;
  bool finite = true;
  for (int head = 0; head < shape.num_heads; ++head) {
    std::byte* const key_rows = tile + head * to.head_bytes();
    std::byte* const value_rows = key_rows + kTilePositions * to.key_bytes;
    const bool stored =
        EncodeKvRow(type_, keys.subspan(head * shape.key_size, shape.key_size),
                    key_rows + row * to.key_bytes) &&
        EncodeKvRow(type_, values.subspan(head * shape.value_size, shape.value_size),
                    value_rows + row * to.value_bytes);
    finite = finite && stored;
  }
  return finite;
}

const float* KvCache::Keys(int layer, int head, int64_t tile, int count, float* scratch) const {
  const Layer& from = layers_[layer];
  return AsF32(type_, from.tiles[tile].get() + head * from.head_bytes(), from.key_bytes,
               from.shape.key_size, count, scratch);
}

const float* KvCache::Values(int layer, int head, int64_t tile, int count, float* scratch) const {
  const Layer& from = layers_[layer];
  const std::byte* const keys = from.tiles[tile].get() + head * from.head_bytes();
  return AsF32(type_, keys + kTilePositions * from.key_bytes, from.value_bytes,
               from.shape.value_size, count, scratch);
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const Layer& layer : layers_) {
    sum += static_cast<int64_t>(layer.tiles.size()) * layer.tile_bytes();
  }
  return sum;
}

int64_t KvCache::BytesFor(KvType type, const KvShape& shape, int64_t num_positions) {
  const Layer layer = {.shape = shape,
                       .key_bytes = KvRowBytes(type, shape.key_size),
                       .value_bytes = KvRowBytes(type, shape.value_size)};
  return NumTiles(num_positions) * layer.tile_bytes();
}

}  // namespace strata
