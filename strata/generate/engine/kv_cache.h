// Keys and values of the tokens fed so far, of every attention layer of a model.
//
// Positions lie in tiles of kTilePositions, which are also the tiles of attention; a tile's memory
// is taken when its first position comes into use, so a large limit costs nothing by itself.
//
// Thread-compatible; different positions may be stored, and any read, at the same time.
#ifndef STRATA_GENERATE_ENGINE_KV_CACHE_H_
#define STRATA_GENERATE_ENGINE_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/engine/kv_row.h"
#include "strata/generate/kernels/aligned_memory.h"

namespace strata {

// Of one layer. Sizes are in values.
struct KvShape {
  int num_heads = 0;
  int key_size = 0;
  int value_size = 0;
};

class KvCache {
 public:
  static constexpr int kTilePositions = 64;

  KvCache(KvType type, std::vector<KvShape> layers);

  // Positions [0, size()) are stored and kept.
  int64_t size() const { return size_; }
  // Makes positions below `num_positions` ready to be stored.
  void Reserve(int64_t num_positions);
  // Keeps positions [0, size), all of them stored. The memory stays.
  void SetSize(int64_t size);

  // `keys` and `values` are those of all heads. False as EncodeKvRow. The position is reserved.
  [[nodiscard]] bool Store(int layer, int64_t position, absl::Span<const float> keys,
                           absl::Span<const float> values);

  // Rows of one head at positions [tile * kTilePositions, + count) one after the other: in the
  // cache itself if it holds f32, else in `scratch`, which holds count rows.
  const float* Keys(int layer, int head, int64_t tile, int count, float* scratch) const;
  const float* Values(int layer, int head, int64_t tile, int count, float* scratch) const;

  // Of all tiles in memory.
  int64_t bytes() const;
  // Of the tiles of one layer for so many positions.
  static int64_t BytesFor(KvType type, const KvShape& shape, int64_t num_positions);

 private:
  // Within a tile: of each head kTilePositions keys, then as many values.
  struct Layer {
    KvShape shape;
    int64_t key_bytes = 0;
    int64_t value_bytes = 0;
    std::vector<AlignedArray<std::byte>> tiles;

    int64_t head_bytes() const { return kTilePositions * (key_bytes + value_bytes); }
    int64_t tile_bytes() const { return shape.num_heads * head_bytes(); }
  };

  const KvType type_;
  std::vector<Layer> layers_;
  int64_t size_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_KV_CACHE_H_
