// Which snapshots of the states of sequences there are, and which of them goes when another needs
// its memory.
//
// That is the one whose loss costs least for how long nobody needed it: the tokens between it and
// the snapshot before it (they would be fed again), and kMarkTokens more for a mark, divided by how
// many snapshots were made since it was made or last gone back to. So a long text keeps snapshots
// that lie the further apart the older they are, and the places that a conversation goes back to.
#ifndef STRATA_GENERATE_CPU_SNAPSHOT_LIST_H_
#define STRATA_GENERATE_CPU_SNAPSHOT_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace strata {

class SnapshotList {
 public:
  static constexpr int64_t kMarkTokens = 1024;

  struct Snapshot {
    const void* owner = nullptr;  // The sequence.
    int64_t position = 0;         // Tokens that it has seen.
    bool is_mark = false;         // A place that a text is likely to be gone back to.
    int buffer = 0;
    int64_t last_needed = 0;  // Set by the list.
  };

  int size() const { return static_cast<int>(snapshots_.size()); }
  void Add(const Snapshot& snapshot);
  // The one of `owner` with the greatest position up to this one, which it is now needed for; null
  // if there is none. Valid until the list changes.
  const Snapshot* Find(const void* owner, int64_t position);
  bool Has(const void* owner, int64_t position) const;
  // Forgets those of `owner` behind this position, after they were shown.
  void RemoveBehind(const void* owner, int64_t position,
                    absl::FunctionRef<void(const Snapshot&)> removed);
  // Forgets the one that goes first, and returns its buffer. There is one.
  int RemoveCheapest();

 private:
  double CostOf(const Snapshot& snapshot) const;

  std::vector<Snapshot> snapshots_;
  int64_t now_ = 0;  // Snapshots made so far.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_SNAPSHOT_LIST_H_
