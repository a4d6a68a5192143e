#include "strata/core/error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace strata {
namespace {

constexpr char kKindUrl[] = "strata/error_kind";
constexpr char kFileUrl[] = "strata/error_file";
constexpr char kUsageUrl[] = "strata/usage";

std::string Payload(const absl::Status& status, absl::string_view url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status InputError(absl::string_view kind, absl::string_view file, absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kKindUrl, absl::Cord(kind));
  return WithFile(std::move(status), file);
}

absl::Status IoError(absl::string_view file, absl::string_view what, int error_number) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error_number));
  if (error_number == ENOMEM || error_number == EMFILE || error_number == ENFILE) {
    return WithFile(MachineError(message), file);
  }
  return InputError("io", file, message);
}

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsageUrl, absl::Cord("1"));
  return status;
}

absl::Status MachineError(absl::string_view message) {
  return absl::ResourceExhaustedError(message);
}

absl::Status InterruptedError(absl::string_view message) { return absl::CancelledError(message); }

std::string ErrorKind(const absl::Status& status) { return Payload(status, kKindUrl); }

std::string ErrorFile(const absl::Status& status) { return Payload(status, kFileUrl); }

absl::Status WithFile(absl::Status status, absl::string_view file) {
  status.SetPayload(kFileUrl, absl::Cord(file));
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kDone;
  if (status.GetPayload(kUsageUrl).has_value()) return ExitCode::kCommandLine;
  if (status.GetPayload(kKindUrl).has_value()) return ExitCode::kInputFile;
  if (absl::IsCancelled(status)) return ExitCode::kInterrupted;
  if (absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) return ExitCode::kMachine;
  return ExitCode::kInternal;
}

}  // namespace strata
