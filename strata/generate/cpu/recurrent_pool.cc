#include "strata/generate/cpu/recurrent_pool.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "strata/generate/kernels/aligned_memory.h"

namespace strata {
namespace {

constexpr int64_t kValuesOfLine = kCacheLineBytes / int64_t{sizeof(float)};

int64_t WholeLines(int64_t values) {
  return (values + kValuesOfLine - 1) / kValuesOfLine * kValuesOfLine;
}

}  // namespace

RecurrentPool::RecurrentPool(const std::vector<int64_t>& values_by_layer, int64_t snapshot_bytes) {
  for (const int64_t values : values_by_layer) {
    offsets_.push_back(state_values_);
    state_values_ += WholeLines(values);
  }
  max_snapshots_ = MaxSnapshots(state_bytes(), snapshot_bytes);
}

int64_t RecurrentPool::StateBytes(const std::vector<int64_t>& values_by_layer) {
  int64_t values = 0;
  for (const int64_t of_layer : values_by_layer) values += WholeLines(of_layer);
  return values * int64_t{sizeof(float)};
}

int RecurrentPool::MaxSnapshots(int64_t state_bytes, int64_t snapshot_bytes) {
  if (state_bytes == 0) return 0;
  return static_cast<int>(std::min<int64_t>(snapshot_bytes / state_bytes, kMaxSnapshots));
}

int RecurrentPool::Take() {
  if (free_.empty()) {
    buffers_.push_back(AllocateAligned<float>(state_values_));
    free_.reserve(buffers_.capacity());  // Giving back allocates nothing.
    return static_cast<int>(buffers_.size()) - 1;
  }
  const int buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void RecurrentPool::Copy(int from, int to) const {
  std::copy_n(buffers_[from].get(), state_values_, buffers_[to].get());
}

int RecurrentPool::TakeForSnapshot() {
  if (num_snapshot_buffers_ < max_snapshots_) {
    ++num_snapshot_buffers_;
    return Take();
  }
  return snapshots_.size() == 0 ? kNoBuffer : snapshots_.RemoveCheapest();
}

void RecurrentPool::DropSnapshot(int buffer) {
  --num_snapshot_buffers_;
  GiveBack(buffer);
}

}  // namespace strata
