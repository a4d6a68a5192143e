// Keys and values of the attention layers of a model, for all sequences of an engine.
//
// Positions lie in pages of KvPool::kPagePositions, which are also the tiles of attention. A page
// holds its positions for every layer. A KvState, one for each sequence, has pages in the order of
// its positions and gives them back when it ends or is cut; the pool keeps their memory for others
// and takes more only when none is free, so a large limit costs nothing by itself.
#ifndef STRATA_GENERATE_CPU_KV_POOL_H_
#define STRATA_GENERATE_CPU_KV_POOL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/aligned_memory.h"

namespace strata {

// Of one layer. Sizes are in values. Without heads the layer has no keys.
struct KvShape {
  int num_heads = 0;
  int key_size = 0;
  int value_size = 0;
  // The values are the first value_size values of the keys, and are kept once.
  bool values_in_keys = false;
  // Beside keys and values, for all heads together: an index row of this size for each position,
  // and one for each block of positions. 0: none.
  int index_size = 0;
  int index_block = 1;  // Positions of a block; divides KvPool::kPagePositions.

  // Of a value as KvState::Values shows it, to the next position's.
  int value_stride() const { return values_in_keys ? key_size : value_size; }
};

// Thread-compatible: pages are taken and given back by one thread; different positions may be
// stored, and any read, at the same time.
class KvPool {
 public:
  static constexpr int kPagePositions = 64;

  // By layer.
  KvPool(KvType type, const std::vector<KvShape>& layers);

  // A page that nobody has, and what ends that.
  int Take();
  void GiveBack(int page) { free_.push_back(page); }

  // Of all pages in memory.
  int64_t bytes() const { return static_cast<int64_t>(pages_.size()) * page_bytes_; }
  // Of one layer for so many positions.
  static int64_t BytesFor(KvType type, const KvShape& shape, int64_t num_positions);

 private:
  friend class KvState;

  // Within a page, from offset on: of each head kPagePositions keys, then as many values; then the
  // index rows of positions, and those of blocks.
  struct Layer {
    KvShape shape;
    int64_t key_bytes = 0;
    int64_t value_bytes = 0;
    int64_t index_bytes = 0;  // Of a row.
    int64_t offset = 0;

    int64_t head_bytes() const { return kPagePositions * (key_bytes + value_bytes); }
    int64_t index_at() const { return shape.num_heads * head_bytes(); }
    int64_t block_index_at() const { return index_at() + kPagePositions * index_bytes; }
    int64_t bytes() const {
      return block_index_at() + kPagePositions / shape.index_block * index_bytes;
    }
  };
  static Layer LayerOf(KvType type, const KvShape& shape);

  const KvType type_;
  std::vector<Layer> layers_;
  int64_t page_bytes_ = 0;
  std::vector<AlignedArray<std::byte>> pages_;
  std::vector<int> free_;
};

// The keys and values of one sequence. The pool outlives it. Thread-compatible as the pool.
class KvState {
 public:
  explicit KvState(KvPool& pool) : pool_(pool) {}
  ~KvState();
  KvState(const KvState&) = delete;
  KvState& operator=(const KvState&) = delete;

  // Positions [0, size()) are stored and kept.
  int64_t size() const { return size_; }
  // Makes positions below `num_positions` ready to be stored.
  void Reserve(int64_t num_positions);
  // Keeps positions [0, size), all of them stored, and gives back pages that hold none of them.
  void SetSize(int64_t size);

  // `keys` and `values` are those of all heads; no values where the keys hold them. False as
  // EncodeKvRow. The position is reserved.
  [[nodiscard]] bool Store(int layer, int64_t position, absl::Span<const float> keys,
                           absl::Span<const float> values) const;

  // An index row: of a position, or of the block that begins at one. False as Store.
  [[nodiscard]] bool StoreIndex(int layer, int64_t position, absl::Span<const float> row) const;
  [[nodiscard]] bool StoreBlockIndex(int layer, int64_t position,
                                     absl::Span<const float> row) const;

  // Rows of one head at positions [tile * kPagePositions, + count) one after the other: in the
  // pool itself if it holds f32, else in `scratch`, which holds count rows.
  const float* Keys(int layer, int head, int64_t tile, int count, float* scratch) const;
  // Where keys and values are apart.
  const float* Values(int layer, int head, int64_t tile, int count, float* scratch) const;
  // The same of the index rows of `count` positions from this one on, or of the first `count`
  // blocks of a tile. Those of one tile only.
  const float* Indexes(int layer, int64_t position, int count, float* scratch) const;
  const float* BlockIndexes(int layer, int64_t tile, int count, float* scratch) const;
  // Copies rows of one head at `count` positions of one tile, from this one on.
  void CopyKeys(int layer, int head, int64_t position, int count, float* to) const;
  void CopyValues(int layer, int head, int64_t position, int count, float* to) const;

 private:
  std::byte* PageOf(const KvPool::Layer& layer, int64_t tile) const {
    return pool_.pages_[pages_[tile]].get() + layer.offset;
  }
  const std::byte* KeysOf(const KvPool::Layer& layer, int head, int64_t tile) const {
    return PageOf(layer, tile) + head * layer.head_bytes();
  }
  const std::byte* ValuesOf(const KvPool::Layer& layer, int head, int64_t tile) const {
    return KeysOf(layer, head, tile) + KvPool::kPagePositions * layer.key_bytes;
  }

  KvPool& pool_;
  std::vector<int> pages_;
  int64_t size_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_KV_POOL_H_
