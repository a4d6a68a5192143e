#include "strata/core/cli/runfiles.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace strata {
namespace {

using ::bazel::tools::cpp::runfiles::Runfiles;

std::string& ProgramPath() {
  static std::string* const path = new std::string;
  return *path;
}

}  // namespace

void InitRunfiles(const char* argv0) {
  // A program found through PATH, or started from elsewhere, knows itself by the link that the
  // kernel keeps.
  std::error_code error;
  const std::filesystem::path given = std::filesystem::absolute(argv0, error);
  ProgramPath() = !error && std::filesystem::exists(given, error)
                      ? given.string()
                      : std::filesystem::read_symlink("/proc/self/exe", error).string();
}

absl::StatusOr<std::string> Runfile(absl::string_view path) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(ProgramPath().empty()
                                               ? Runfiles::CreateForTest(&error)
                                               : Runfiles::Create(ProgramPath(), &error));
  const std::string found =
      runfiles == nullptr ? "" : runfiles->Rlocation(absl::StrCat("strata/", path));
  std::error_code missing;
  if (found.empty() || !std::filesystem::exists(found, missing)) {
    return absl::NotFoundError(absl::StrCat("this program was started without its file ", path,
                                            error.empty() ? "" : absl::StrCat(": ", error)));
  }
  return std::filesystem::absolute(found, missing).string();
}

}  // namespace strata
