// What a status says beyond its code: whose fault it is, and for an input file which kind of fault,
// so that mains can choose the exit code and print {"error": {"kind", "message", "file"}}.
//
// Kinds are stable words in snake_case (docs/design/errors.md lists them); messages are for people
// and name the item, what was found and what was expected.
#ifndef STRATA_CORE_ERROR_H_
#define STRATA_CORE_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace strata {

// The exit codes of every tool.
enum class ExitCode {
  kDone = 0,
  kCommandLine = 1,
  kInputFile = 2,
  kMachine = 3,
  kInternal = 4,
  kInterrupted = 130,  // As shells report a program that Ctrl-C ended.
};

// A file is wrong: `kind` as above, `file` the path as the user knows it.
absl::Status InputError(absl::string_view kind, absl::string_view file, absl::string_view message);

// The system refused an operation on `file`: kind "io", or the machine's fault when it has too
// little memory or too few descriptors. The message ends with the text of `error_number`.
absl::Status IoError(absl::string_view file, absl::string_view what, int error_number);

// The command line is wrong.
absl::Status UsageError(absl::string_view message);

// The machine lacks something: no GPU, too little memory.
absl::Status MachineError(absl::string_view message);

// Ctrl-C ended the work before it was done.
absl::Status InterruptedError(absl::string_view message);

// The kind and the file of an InputError; empty for any other status.
std::string ErrorKind(const absl::Status& status);
std::string ErrorFile(const absl::Status& status);

// The same input error with another file named, for a part that does not know the path it reads.
absl::Status WithFile(absl::Status status, absl::string_view file);

// kDone for ok; statuses made by none of the functions above: kResourceExhausted and kUnavailable
// are the machine's, kCancelled was interrupted, all else is our fault.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace strata

#endif  // STRATA_CORE_ERROR_H_
