// Files of the project that a binary needs at run time (testdata), found under `bazel run`, under
// `bazel test` and when the binary is started by its path.
#ifndef STRATA_CORE_CLI_RUNFILES_H_
#define STRATA_CORE_CLI_RUNFILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace strata {

// Remembers where the program is. ToolMain calls it before the working directory changes; tests
// need not call it.
void InitRunfiles(const char* argv0);

// The absolute path of `path`, given relative to the workspace: "testdata/strata-tiny-q4_k_m.gguf".
// kNotFound when this binary was built or installed without it.
absl::StatusOr<std::string> Runfile(absl::string_view path);

}  // namespace strata

#endif  // STRATA_CORE_CLI_RUNFILES_H_
