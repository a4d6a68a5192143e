// Notes: what a program tells people beside its results, one plain line each on stderr. A note says
// what was chosen where somebody might wonder (which device, where the experts are), or that
// something which was asked for has no effect. What only explains is logged (glog); errors are
// statuses. A library may do both: see docs/design/errors.md.
//
// Thread-safe. The settings are of the process, and mains alone change them.
#ifndef STRATA_CORE_NOTE_H_
#define STRATA_CORE_NOTE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace strata {

// Prints `line` and a line end, unless notes are off. Control characters of it become escapes; an
// empty line is no note.
void Note(absl::string_view line);

// The same where notes are off as well: for errors that no status can carry.
void NoteAnyway(absl::string_view line);

// --quiet: notes and progress are left out.
void TurnOffNotes();
bool AreNotesOff();

// While one lives, notes wait: nothing is printed into an answer. They come when the last one ends.
class NoteHold {
 public:
  NoteHold();
  ~NoteHold();
  NoteHold(const NoteHold&) = delete;
  NoteHold& operator=(const NoteHold&) = delete;
};

// For tests: takes the notes that are made while it lives, which are then not printed. One at a
// time.
class NoteCapture {
 public:
  NoteCapture();
  ~NoteCapture();
  NoteCapture(const NoteCapture&) = delete;
  NoteCapture& operator=(const NoteCapture&) = delete;

  std::vector<std::string> notes() const;
};

}  // namespace strata

#endif  // STRATA_CORE_NOTE_H_
