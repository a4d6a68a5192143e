#include "strata/core/cli/output_files.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/error.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

// Of a file that is not there yet the folder decides, and the name in it.
bool AreOneFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code unknown;
  if (fs::exists(a, unknown) && !fs::is_regular_file(a, unknown)) return false;
  if (fs::equivalent(a, b, unknown)) return true;
  const fs::path canonical = fs::weakly_canonical(a, unknown);
  return !unknown && canonical == fs::weakly_canonical(b, unknown) && !unknown;
}

}  // namespace

absl::Status CheckOutputs(absl::Span<const NamedFile> outputs, absl::Span<const NamedFile> inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile& output = outputs[i];
    for (const NamedFile& input : inputs) {
      if (!AreOneFile(output.path, input.path)) continue;
      return UsageError(absl::StrCat(output.role, " names a file that is read (", input.role,
                                     "): ", output.path));
    }
    for (const NamedFile& other : outputs.subspan(i + 1)) {
      if (!AreOneFile(output.path, other.path)) continue;
      return UsageError(
          absl::StrCat(output.role, " and ", other.role, " name one file: ", output.path));
    }
  }
  return absl::OkStatus();
}

}  // namespace strata
