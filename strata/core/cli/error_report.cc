#include "strata/core/cli/error_report.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/error.h"
#include "strata/core/printable.h"

namespace strata {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr char kPrintedUrl[] = "strata/error_printed";

std::string KindOf(const absl::Status& status) {
  switch (ExitCodeOf(status)) {
    case ExitCode::kCommandLine:
      return "usage";
    case ExitCode::kMachine:
      return "machine";
    case ExitCode::kInterrupted:
      return "interrupted";
    case ExitCode::kInputFile:
      return ErrorKind(status);
    case ExitCode::kDone:
    case ExitCode::kInternal:
      break;
  }
  return "internal";
}

}  // namespace

std::string ErrorLine(absl::string_view tool, const absl::Status& status) {
  const std::string kind = ErrorKind(status);
  const std::string file = ErrorFile(status);
  const bool is_interrupted = ExitCodeOf(status) == ExitCode::kInterrupted;
  std::string line = absl::StrCat(tool, is_interrupted ? ": interrupted: " : ": error: ");
  if (!file.empty() || !kind.empty()) {
    absl::StrAppend(&line, file.empty() ? "''" : Printable(file, kMaxPathBytes), ": ");
  }
  absl::StrAppend(&line, WithoutControls(status.message()),
                  kind.empty() ? "" : absl::StrCat(" [", kind, "]"));
  return line;
}

Json ErrorJson(const absl::Status& status) {
  return {{"kind", KindOf(status)},
          {"message", status.message()},
          {"file", ErrorFile(status)},
          {"exit_code", static_cast<int>(ExitCodeOf(status))}};
}

absl::Status AlreadyPrinted(absl::Status status) {
  status.SetPayload(kPrintedUrl, absl::Cord("1"));
  return status;
}

bool IsAlreadyPrinted(const absl::Status& status) {
  return status.GetPayload(kPrintedUrl).has_value();
}

}  // namespace strata
