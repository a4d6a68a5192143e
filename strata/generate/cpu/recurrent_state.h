// The recurrent state of one sequence, and where it can be gone back to.
//
// A step reads the state before it and writes the state after it beside it, so that a step that
// fails changes nothing. On its way it also leaves snapshots: at the end of a prompt and
// kTokensBeforeEnd before it (where the next turn of a conversation parts from what a chat format
// had added for the answer), where the text was gone back to before, at the end of each step of
// several tokens, and at multiples of kGridTokens. No bit depends on them.
//
//   state.Begin(end, ...);     // rows at positions [state.position(), end)
//   ... layers read Before and write After, and what SnapshotAfter says ...
//   state.Commit();            // or Abandon()
//
// Thread-compatible as the pool, which outlives it.
#ifndef STRATA_GENERATE_CPU_RECURRENT_STATE_H_
#define STRATA_GENERATE_CPU_RECURRENT_STATE_H_

#include <cstdint>
#include <vector>

#include "strata/generate/cpu/recurrent_pool.h"

namespace strata {

class RecurrentState {
 public:
  static constexpr int64_t kGridTokens = 256;
  static constexpr int64_t kTokensBeforeEnd = 16;

  explicit RecurrentState(RecurrentPool& pool) : pool_(pool) {}
  ~RecurrentState();
  RecurrentState(const RecurrentState&) = delete;
  RecurrentState& operator=(const RecurrentState&) = delete;

  int64_t position() const { return position_; }

  void Begin(int64_t end, bool ends_prompt);
  // Null at position 0: a state of zeros.
  const float* Before(int layer) const;
  float* After(int layer) const { return pool_.At(next_, layer); }
  // The buffer for a snapshot of the state after the token at this position; kNoBuffer: none.
  int SnapshotAfter(int64_t position) const;
  float* Snapshot(int buffer, int layer) const { return pool_.At(buffer, layer); }
  void Commit();
  void Abandon();

  // Goes back to this position or, if there is no snapshot, to one before it, and returns that.
  int64_t Rewind(int64_t position);

 private:
  struct Planned {
    int64_t position = 0;
    bool is_mark = false;
    int buffer = 0;
  };
  static constexpr int64_t kNowhere = -1;

  void Plan(int64_t position, bool is_mark);
  void GoTo(int64_t position);

  RecurrentPool& pool_;
  int64_t position_ = 0;
  int64_t end_ = 0;                         // Of the step under way.
  int current_ = RecurrentPool::kNoBuffer;  // The state at position_, unless that is 0.
  int next_ = RecurrentPool::kNoBuffer;     // Between steps the state at previous_, if anywhere.
  int64_t previous_ = kNowhere;
  int64_t gone_back_to_ = kNowhere;  // That was asked for and had no snapshot.
  std::vector<Planned> planned_;     // Of the step under way.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_RECURRENT_STATE_H_
