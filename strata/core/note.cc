#include "strata/core/note.h"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/mutex.h"
#include "strata/core/printable.h"

namespace strata {
namespace {

class Notes {
 public:
  // Never destroyed: threads may say something while the process ends.
  static Notes& OfProcess() {
    static auto* const notes = new Notes;
    return *notes;
  }

  void Say(absl::string_view line, bool anyway) {
    MutexLock lock(&mutex_);
    if (is_captured_) {
      captured_.emplace_back(line);
    } else if (anyway || !are_off_) {
      if (num_holds_ > 0) {
        waiting_.emplace_back(line);
      } else {
        Print(line);
      }
    }
  }

  void TurnOff() {
    MutexLock lock(&mutex_);
    are_off_ = true;
  }
  bool are_off() {
    MutexLock lock(&mutex_);
    return are_off_;
  }

  void Hold() {
    MutexLock lock(&mutex_);
    ++num_holds_;
  }
  void Release() {
    MutexLock lock(&mutex_);
    CHECK_GT(num_holds_, 0);
    if (--num_holds_ > 0) return;
    for (const std::string& line : std::exchange(waiting_, {})) Print(line);
  }

  void Capture(bool on) {
    MutexLock lock(&mutex_);
    CHECK_NE(is_captured_, on) << "one NoteCapture at a time";
    is_captured_ = on;
    captured_.clear();
  }
  std::vector<std::string> captured() {
    MutexLock lock(&mutex_);
    return captured_;
  }

 private:
  static void Print(absl::string_view line) {
    std::cerr << WithoutControls(line) + "\n" << std::flush;
  }

  Mutex mutex_;
  bool are_off_ ABSL_GUARDED_BY(mutex_) = false;
  int num_holds_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_captured_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> captured_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void Note(absl::string_view line) {
  if (!line.empty()) Notes::OfProcess().Say(line, /*anyway=*/false);
}

void NoteAnyway(absl::string_view line) { Notes::OfProcess().Say(line, /*anyway=*/true); }

void TurnOffNotes() { Notes::OfProcess().TurnOff(); }

bool AreNotesOff() { return Notes::OfProcess().are_off(); }

NoteHold::NoteHold() { Notes::OfProcess().Hold(); }

NoteHold::~NoteHold() { Notes::OfProcess().Release(); }

NoteCapture::NoteCapture() { Notes::OfProcess().Capture(true); }

NoteCapture::~NoteCapture() { Notes::OfProcess().Capture(false); }

std::vector<std::string> NoteCapture::notes() const { return Notes::OfProcess().captured(); }

}  // namespace strata
