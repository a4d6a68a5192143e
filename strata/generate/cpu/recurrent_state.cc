#include "strata/generate/cpu/recurrent_state.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "glog/logging.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/snapshot_list.h"

namespace strata {

RecurrentState::~RecurrentState() {
  Abandon();
  GoTo(0);
  for (const int buffer : {current_, next_}) {
    if (buffer != RecurrentPool::kNoBuffer) pool_.GiveBack(buffer);
  }
}

void RecurrentState::Begin(int64_t end, bool ends_prompt) {
  CHECK_GT(end, position_);
  Abandon();
  end_ = end;
  if (pool_.is_empty()) return;
  if (next_ == RecurrentPool::kNoBuffer) next_ = pool_.Take();
  if (ends_prompt) {
    Plan(end, /*is_mark=*/true);
    Plan(end - kTokensBeforeEnd, /*is_mark=*/true);
  } else if (end - position_ > 1) {
    Plan(end, /*is_mark=*/false);
  }
  Plan(gone_back_to_, /*is_mark=*/true);
  for (int64_t position = position_ / kGridTokens * kGridTokens + kGridTokens; position <= end;
       position += kGridTokens) {
    Plan(position, /*is_mark=*/false);
  }
}

void RecurrentState::Plan(int64_t position, bool is_mark) {
  if (position <= position_ || position > end_) return;
  if (SnapshotAfter(position - 1) != RecurrentPool::kNoBuffer) return;
  const int buffer = pool_.TakeForSnapshot();
  if (buffer == RecurrentPool::kNoBuffer) return;
  planned_.push_back({.position = position, .is_mark = is_mark, .buffer = buffer});
}

const float* RecurrentState::Before(int layer) const {
  return position_ == 0 ? nullptr : pool_.At(current_, layer);
}

int RecurrentState::SnapshotAfter(int64_t position) const {
  const auto found = std::find_if(planned_.begin(), planned_.end(), [&](const Planned& planned) {
    return planned.position == position + 1;
  });
  return found == planned_.end() ? RecurrentPool::kNoBuffer : found->buffer;
}

void RecurrentState::Commit() {
  previous_ = position_;
  position_ = end_;
  if (gone_back_to_ <= position_) gone_back_to_ = kNowhere;
  if (pool_.is_empty()) return;
  std::swap(current_, next_);
  for (const Planned& planned : planned_) {
    pool_.KeepSnapshot({.owner = this,
                        .position = planned.position,
                        .is_mark = planned.is_mark,
                        .buffer = planned.buffer});
  }
  planned_.clear();
}

void RecurrentState::Abandon() {
  for (const Planned& planned : planned_) pool_.DropSnapshot(planned.buffer);
  planned_.clear();
  // A step that began has written there.
  if (end_ > position_) previous_ = kNowhere;
  end_ = position_;
}

int64_t RecurrentState::Rewind(int64_t position) {
  CHECK(0 <= position && position <= position_) << position;
  Abandon();
  if (position == position_) return position;
  if (pool_.is_empty()) {
    GoTo(position);
    return position;
  }
  const SnapshotList::Snapshot* const snapshot = pool_.snapshots().Find(this, position);
  const int64_t kept = snapshot == nullptr ? 0 : snapshot->position;
  if (previous_ >= kept && previous_ <= position) {
    std::swap(current_, next_);
    GoTo(previous_);
  } else {
    if (snapshot != nullptr) pool_.Copy(snapshot->buffer, current_);
    GoTo(kept);
  }
  if (position_ < position) gone_back_to_ = position;
  return position_;
}

void RecurrentState::GoTo(int64_t position) {
  position_ = position;
  end_ = position;
  previous_ = kNowhere;
  pool_.snapshots().RemoveBehind(this, position, [this](const SnapshotList::Snapshot& snapshot) {
    pool_.DropSnapshot(snapshot.buffer);
  });
}

}  // namespace strata
