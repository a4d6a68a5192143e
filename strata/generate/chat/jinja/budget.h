// What a template may use, and what one run of it has used.
#ifndef STRATA_GENERATE_CHAT_JINJA_BUDGET_H_
#define STRATA_GENERATE_CHAT_JINJA_BUDGET_H_

#include <cstdint>

#include "absl/status/status.h"

namespace strata::jinja {

// A conversation of a million tokens stays far below these.
struct Limits {
  int64_t max_steps = 50'000'000;  // Expressions and statements; 32 bytes handled are one more.
  int64_t max_bytes = 256 << 20;   // Of all values alive at a time.
  int64_t max_output_bytes = 64 << 20;
  int max_depth = 600;  // Of expressions and statements inside others, as run.
};

// Counts for one run. The first limit that is passed stays in status(); whoever uses the budget
// goes on for at most one operation after that. Used by one thread.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  const Limits& limits() const { return limits_; }

  // One more step. False when there are no more.
  bool Step();
  // The steps for an operation on so many bytes or so many items of 32 bytes.
  void HandleBytes(int64_t num_bytes);
  void HandleItems(int64_t num_items) { HandleBytes(32 * num_items); }

  void Take(int64_t num_bytes);
  void Give(int64_t num_bytes) { used_bytes_ -= num_bytes; }
  // Whether so many more bytes would be within the limit; the budget has failed if not. To be
  // asked before making something much larger than what it is made of.
  bool HasRoomFor(int64_t num_bytes);

  // A level deeper; false, and the budget has failed, where that is too deep. To be paired.
  bool Enter();
  void Leave() { --depth_; }

  // Fails for a reason of the caller's unless it failed before.
  void Fail(absl::Status status);

 private:
  const Limits limits_;
  absl::Status status_;
  int64_t steps_ = 0;
  int64_t used_bytes_ = 0;
  int depth_ = 0;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_BUDGET_H_
