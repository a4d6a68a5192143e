#include "strata/generate/cpu/kv_pool.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/cpu/kv_row.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/aligned_memory.h"

namespace strata {
namespace {

void DecodeRows(KvType type, const std::byte* rows, int64_t row_bytes, int size, int count,
                float* to) {
  for (int i = 0; i < count; ++i) {
    DecodeKvRow(type, rows + i * row_bytes, absl::MakeSpan(to + int64_t{i} * size, size));
  }
}

// `count` rows of `size` values, or the rows themselves where they are f32.
const float* AsF32(KvType type, const std::byte* rows, int64_t row_bytes, int size, int count,
                   float* scratch) {
  if (type == KvType::kF32) return reinterpret_cast<const float*>(rows);
  DecodeRows(type, rows, row_bytes, size, count, scratch);
  return scratch;
}

int64_t NumPages(int64_t num_positions) {
  return (num_positions + KvPool::kPagePositions - 1) / KvPool::kPagePositions;
}

}  // namespace

KvPool::Layer KvPool::LayerOf(KvType type, const KvShape& shape) {
  return {.shape = shape,
          .key_bytes = KvRowBytes(type, shape.key_size),
          .value_bytes = shape.values_in_keys ? 0 : KvRowBytes(type, shape.value_size),
          .index_bytes = KvRowBytes(type, shape.index_size)};
}

KvPool::KvPool(KvType type, const std::vector<KvShape>& layers) : type_(type) {
  for (const KvShape& shape : layers) {
    Layer& layer = layers_.emplace_back(LayerOf(type, shape));
    layer.offset = page_bytes_;
    page_bytes_ += layer.bytes();
  }
}

int KvPool::Take() {
  if (free_.empty()) {
    pages_.push_back(AllocateAligned<std::byte>(page_bytes_));
    free_.reserve(pages_.capacity());  // Giving back allocates nothing.
    return static_cast<int>(pages_.size()) - 1;
  }
  const int page = free_.back();
  free_.pop_back();
  return page;
}

int64_t KvPool::BytesFor(KvType type, const KvShape& shape, int64_t num_positions) {
  return NumPages(num_positions) * LayerOf(type, shape).bytes();
}

KvState::~KvState() { SetSize(0); }

void KvState::Reserve(int64_t num_positions) {
  const auto num_pages = static_cast<size_t>(NumPages(num_positions));
  while (pages_.size() < num_pages) pages_.push_back(pool_.Take());
}

void KvState::SetSize(int64_t size) {
  CHECK_GE(size, 0);
  const int64_t num_pages = NumPages(size);
  CHECK_LE(num_pages, static_cast<int64_t>(pages_.size()));
  while (static_cast<int64_t>(pages_.size()) > num_pages) {
    pool_.GiveBack(pages_.back());
    pages_.pop_back();
  }
  size_ = size;
}

bool KvState::Store(int layer, int64_t position, absl::Span<const float> keys,
                    absl::Span<const float> values) const {
  const KvPool::Layer& to = pool_.layers_[layer];
  const KvShape& shape = to.shape;
  CHECK_EQ(keys.size(), static_cast<size_t>(shape.num_heads * shape.key_size));
  CHECK_EQ(values.size(),
           static_cast<size_t>(shape.values_in_keys ? 0 : shape.num_heads * shape.value_size));
  CHECK_LT(position / KvPool::kPagePositions, static_cast<int64_t>(pages_.size()))
      << "not reserved";
  std::byte* const page = PageOf(to, position / KvPool::kPagePositions);
  const int64_t row = position % KvPool::kPagePositions;
  bool finite = true;
  for (int head = 0; head < shape.num_heads; ++head) {
    std::byte* const key_rows = page + head * to.head_bytes();
    std::byte* const value_rows = key_rows + KvPool::kPagePositions * to.key_bytes;
    const bool stored =
        EncodeKvRow(pool_.type_, keys.subspan(head * shape.key_size, shape.key_size),
                    key_rows + row * to.key_bytes) &&
        (shape.values_in_keys ||
         EncodeKvRow(pool_.type_, values.subspan(head * shape.value_size, shape.value_size),
                     value_rows + row * to.value_bytes));
    finite = finite && stored;
  }
  return finite;
}

bool KvState::StoreIndex(int layer, int64_t position, absl::Span<const float> row) const {
  const KvPool::Layer& to = pool_.layers_[layer];
  CHECK_EQ(row.size(), static_cast<size_t>(to.shape.index_size));
  return EncodeKvRow(pool_.type_, row,
                     PageOf(to, position / KvPool::kPagePositions) + to.index_at() +
                         position % KvPool::kPagePositions * to.index_bytes);
}

bool KvState::StoreBlockIndex(int layer, int64_t position, absl::Span<const float> row) const {
  const KvPool::Layer& to = pool_.layers_[layer];
  CHECK_EQ(row.size(), static_cast<size_t>(to.shape.index_size));
  const int64_t block = position % KvPool::kPagePositions / to.shape.index_block;
  return EncodeKvRow(
      pool_.type_, row,
      PageOf(to, position / KvPool::kPagePositions) + to.block_index_at() + block * to.index_bytes);
}

const float* KvState::Keys(int layer, int head, int64_t tile, int count, float* scratch) const {
  const KvPool::Layer& from = pool_.layers_[layer];
  return AsF32(pool_.type_, KeysOf(from, head, tile), from.key_bytes, from.shape.key_size, count,
               scratch);
}

const float* KvState::Values(int layer, int head, int64_t tile, int count, float* scratch) const {
  const KvPool::Layer& from = pool_.layers_[layer];
  CHECK(!from.shape.values_in_keys);
  return AsF32(pool_.type_, ValuesOf(from, head, tile), from.value_bytes, from.shape.value_size,
               count, scratch);
}

const float* KvState::Indexes(int layer, int64_t position, int count, float* scratch) const {
  const KvPool::Layer& from = pool_.layers_[layer];
  return AsF32(pool_.type_,
               PageOf(from, position / KvPool::kPagePositions) + from.index_at() +
                   position % KvPool::kPagePositions * from.index_bytes,
               from.index_bytes, from.shape.index_size, count, scratch);
}

const float* KvState::BlockIndexes(int layer, int64_t tile, int count, float* scratch) const {
  const KvPool::Layer& from = pool_.layers_[layer];
  return AsF32(pool_.type_, PageOf(from, tile) + from.block_index_at(), from.index_bytes,
               from.shape.index_size, count, scratch);
}

void KvState::CopyKeys(int layer, int head, int64_t position, int count, float* to) const {
  const KvPool::Layer& from = pool_.layers_[layer];
  const std::byte* const rows = KeysOf(from, head, position / KvPool::kPagePositions) +
                                position % KvPool::kPagePositions * from.key_bytes;
  DecodeRows(pool_.type_, rows, from.key_bytes, from.shape.key_size, count, to);
}

void KvState::CopyValues(int layer, int head, int64_t position, int count, float* to) const {
  const KvPool::Layer& from = pool_.layers_[layer];
  CHECK(!from.shape.values_in_keys);
  const std::byte* const rows = ValuesOf(from, head, position / KvPool::kPagePositions) +
                                position % KvPool::kPagePositions * from.value_bytes;
  DecodeRows(pool_.type_, rows, from.value_bytes, from.shape.value_size, count, to);
}

}  // namespace strata
