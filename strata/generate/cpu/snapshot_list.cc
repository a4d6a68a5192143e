#include "strata/generate/cpu/snapshot_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "glog/logging.h"

namespace strata {

void SnapshotList::Add(const Snapshot& snapshot) {
  snapshots_.push_back(snapshot);
  snapshots_.back().last_needed = ++now_;
}

const SnapshotList::Snapshot* SnapshotList::Find(const void* owner, int64_t position) {
  Snapshot* found = nullptr;
  for (Snapshot& snapshot : snapshots_) {
    if (snapshot.owner != owner || snapshot.position > position) continue;
    if (found == nullptr || snapshot.position > found->position) found = &snapshot;
  }
  if (found != nullptr) found->last_needed = now_;
  return found;
}

bool SnapshotList::Has(const void* owner, int64_t position) const {
  return std::any_of(snapshots_.begin(), snapshots_.end(), [&](const Snapshot& snapshot) {
    return snapshot.owner == owner && snapshot.position == position;
  });
}

void SnapshotList::RemoveBehind(const void* owner, int64_t position,
                                absl::FunctionRef<void(const Snapshot&)> removed) {
  const auto goes = [&](const Snapshot& snapshot) {
    return snapshot.owner == owner && snapshot.position > position;
  };
  for (const Snapshot& snapshot : snapshots_) {
    if (goes(snapshot)) removed(snapshot);
  }
  snapshots_.erase(std::remove_if(snapshots_.begin(), snapshots_.end(), goes), snapshots_.end());
}

int SnapshotList::RemoveCheapest() {
  CHECK(!snapshots_.empty());
  size_t cheapest = 0;
  double least = CostOf(snapshots_[0]);
  for (size_t i = 1; i < snapshots_.size(); ++i) {
    const double cost = CostOf(snapshots_[i]);
    if (cost >= least) continue;
    least = cost;
    cheapest = i;
  }
  const int buffer = snapshots_[cheapest].buffer;
  snapshots_.erase(snapshots_.begin() + static_cast<int64_t>(cheapest));
  return buffer;
}

double SnapshotList::CostOf(const Snapshot& snapshot) const {
  int64_t previous = 0;
  for (const Snapshot& other : snapshots_) {
    if (other.owner == snapshot.owner && other.position < snapshot.position) {
      previous = std::max(previous, other.position);
    }
  }
  const int64_t tokens = snapshot.position - previous + (snapshot.is_mark ? kMarkTokens : 0);
  return static_cast<double>(tokens) / static_cast<double>(1 + now_ - snapshot.last_needed);
}

}  // namespace strata
