// What mixers remember of texts beside keys and values (the memory of a delta net, the last inputs
// of a convolution), for all sequences of an engine.
//
// Such a state has one size whatever the position, and cannot be cut back: a sequence goes back to
// where a snapshot of it was kept. A buffer holds the state of all layers at one position. Buffers
// are allocated as they are needed and go from one sequence to another; those of snapshots are at
// most as many as fit into a bound.
//
// Used by one thread; different values of a buffer may be written, and any read, at the same time.
#ifndef STRATA_GENERATE_CPU_RECURRENT_POOL_H_
#define STRATA_GENERATE_CPU_RECURRENT_POOL_H_

#include <cstdint>
#include <vector>

#include "strata/generate/cpu/snapshot_list.h"
#include "strata/generate/kernels/aligned_memory.h"

namespace strata {

class RecurrentPool {
 public:
  static constexpr int kNoBuffer = -1;
  // Of an engine, however small they are.
  static constexpr int kMaxSnapshots = 64;
  // Of a sequence under way: the state before a step and what the step makes of it.
  static constexpr int kBuffersOfSequence = 2;

  // Values of each layer's state; `snapshot_bytes` is what all snapshots together may take.
  RecurrentPool(const std::vector<int64_t>& values_by_layer, int64_t snapshot_bytes);

  // No layer has such a state: sequences need no buffers.
  bool is_empty() const { return state_values_ == 0; }
  int max_snapshots() const { return max_snapshots_; }
  static int64_t StateBytes(const std::vector<int64_t>& values_by_layer);
  static int MaxSnapshots(int64_t state_bytes, int64_t snapshot_bytes);

  // A buffer that nobody has, of undefined values, and what ends that.
  int Take();
  void GiveBack(int buffer) { free_.push_back(buffer); }
  // Cache lines of one layer's state.
  float* At(int buffer, int layer) const { return buffers_[buffer].get() + offsets_[layer]; }
  void Copy(int from, int to) const;

  // A buffer for one more snapshot, if need be that of the snapshot that goes first; kNoBuffer
  // where there is room for none. It is returned by KeepSnapshot or DropSnapshot.
  int TakeForSnapshot();
  void KeepSnapshot(const SnapshotList::Snapshot& snapshot) { snapshots_.Add(snapshot); }
  void DropSnapshot(int buffer);
  SnapshotList& snapshots() { return snapshots_; }

  // Of all buffers in memory: those of sequences and those of snapshots.
  int64_t bytes() const { return num_buffers() * state_bytes(); }
  int64_t snapshot_bytes() const { return num_snapshot_buffers_ * state_bytes(); }
  int64_t state_bytes() const { return state_values_ * int64_t{sizeof(float)}; }

 private:
  int64_t num_buffers() const { return static_cast<int64_t>(buffers_.size()); }

  std::vector<int64_t> offsets_;  // By layer, in values.
  int64_t state_values_ = 0;
  int max_snapshots_ = 0;
  std::vector<AlignedArray<float>> buffers_;
  std::vector<int> free_;
  SnapshotList snapshots_;
  int num_snapshot_buffers_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_RECURRENT_POOL_H_
