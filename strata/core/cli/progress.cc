#include "strata/core/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/mutex.h"
#include "strata/core/note.h"

namespace strata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kQuiet{500};
constexpr milliseconds kTerminalInterval{100};
constexpr seconds kLogInterval{5};

double Seconds(Progress::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string Amount(Progress::Unit unit, int64_t amount) {
  return unit == Progress::Unit::kBytes ? FormatByteSize(amount) : absl::StrCat(amount);
}

std::string TimeLeft(double left) {
  const int64_t whole = static_cast<int64_t>(left + 0.5);
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(Options options, Clock::time_point start)
    : options_(std::move(options)),
      out_(options_.out != nullptr ? *options_.out : std::cerr),
      terminal_(options_.out != nullptr ? options_.terminal : isatty(STDERR_FILENO) == 1),
      start_(start),
      printed_at_(start) {
  MutexLock lock(&mutex_);
  if (options_.says_start && !IsOff()) Print(start);
}

Progress::~Progress() {
  MutexLock lock(&mutex_);
  if (terminal_ && line_width_ > 0) out_ << std::endl;
}

void Progress::Add(int64_t amount, Clock::time_point now) {
  MutexLock lock(&mutex_);
  done_ += amount;
  if (IsDue(now)) Print(now);
}

void Progress::Count(int64_t amount) {
  MutexLock lock(&mutex_);
  num_counted_ += amount;
}

bool Progress::IsOff() const { return options_.out == nullptr && AreNotesOff(); }

bool Progress::IsDue(Clock::time_point now) const {
  if (IsOff()) return false;
  if (now - start_ < kQuiet) return false;
  const bool finished = options_.total > 0 && done_ >= options_.total;
  if (finished) return true;
  if (terminal_) return now - printed_at_ >= kTerminalInterval;
  if (now - printed_at_ < kLogInterval) return false;
  return options_.total == 0 || done_ * 10 / options_.total > printed_tenth_;
}

void Progress::Print(Clock::time_point now) {
  std::string line = Line(now);
  const size_t width = line.size();
  if (terminal_) {
    line.resize(std::max(width, line_width_), ' ');
    out_ << '\r' << line << std::flush;
  } else {
    out_ << line << std::endl;
  }
  line_width_ = width;
  printed_at_ = now;
  if (options_.total > 0) printed_tenth_ = done_ * 10 / options_.total;
}

std::string Progress::Line(Clock::time_point now) const {
  const double elapsed = Seconds(now - start_);
  const auto per_second = [elapsed](int64_t amount) {
    return elapsed > 0 ? static_cast<double>(amount) / elapsed : 0;
  };
  const double rate = per_second(done_);
  std::string line = absl::StrCat(options_.label, ": ", Amount(options_.unit, done_));
  if (options_.total > 0) {
    absl::StrAppend(&line, " of ", Amount(options_.unit, options_.total),
                    absl::StrFormat(" (%d %%)", done_ * 100 / options_.total));
  }
  if (elapsed <= 0) return line;
  if (options_.counted.empty()) {
    absl::StrAppend(&line, ", ", Amount(options_.unit, static_cast<int64_t>(rate)), "/s");
  } else {
    const double counted_rate = per_second(num_counted_);
    absl::StrAppend(&line, absl::StrFormat(counted_rate < 10 ? ", %.1f %s/s" : ", %.0f %s/s",
                                           counted_rate, options_.counted));
  }
  if (options_.total > done_ && rate > 0) {
    absl::StrAppend(&line, ", ", TimeLeft(static_cast<double>(options_.total - done_) / rate),
                    " left");
  }
  return line;
}

}  // namespace strata
