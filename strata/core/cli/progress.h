// Progress of a long job on stderr: how much is done, at which rate, and the time left.
//
// On a terminal one line that is written over, ten times a second at most; elsewhere (a log) a line
// at every tenth of the work, at most one each five seconds. Nothing is printed for a job that ends
// within half a second, nor where notes are off (strata/core/note.h). Thread-safe.
#ifndef STRATA_CORE_CLI_PROGRESS_H_
#define STRATA_CORE_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "absl/base/thread_annotations.h"
#include "strata/core/mutex.h"

namespace strata {

class Progress {
 public:
  enum class Unit { kItems, kBytes };
  struct Options {
    std::string label;  // "hashing tensors"
    int64_t total = 0;  // 0: unknown.
    Unit unit = Unit::kItems;
    // What the rate is of, where that is not the unit: "tokens", as they are counted.
    std::string counted = {};
    bool says_start = false;      // A line when it is made: the first amount may take long.
    std::ostream* out = nullptr;  // stderr if null.
    bool terminal = false;        // Looked up when `out` is null.
  };
  using Clock = std::chrono::steady_clock;

  explicit Progress(Options options, Clock::time_point start = Clock::now());
  ~Progress();  // Ends the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(int64_t amount) { Add(amount, Clock::now()); }
  void Add(int64_t amount, Clock::time_point now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of what Options::counted names; shown with the next amount.
  void Count(int64_t amount) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool IsOff() const;
  bool IsDue(Clock::time_point now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Print(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Line(Clock::time_point now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  std::ostream& out_;
  const bool terminal_;
  const Clock::time_point start_;
  Mutex mutex_;
  int64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_counted_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t printed_tenth_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::time_point printed_at_ ABSL_GUARDED_BY(mutex_);
  size_t line_width_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: nothing printed yet.
};

}  // namespace strata

#endif  // STRATA_CORE_CLI_PROGRESS_H_
