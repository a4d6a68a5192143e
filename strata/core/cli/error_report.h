// How a failed status is told: a line for people, an object for programs.
//
// Every exit code but 0 has its object, on stdout with --json:
//   {"error": {"kind": "out_of_file", "message": "...", "file": "model.gguf", "exit_code": 2}}
// `kind` is that of the input error, or "usage", "machine", "internal", "interrupted".
#ifndef STRATA_CORE_CLI_ERROR_REPORT_H_
#define STRATA_CORE_CLI_ERROR_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/cli/json_output.h"

namespace strata {

// "gguf_inspect: error: model.gguf: tensor data ends early [out_of_file]", safe for a terminal.
std::string ErrorLine(absl::string_view tool, const absl::Status& status);

// What "error" holds.
Json ErrorJson(const absl::Status& status);

// For a tool that prints more than the error, a plan that does not fit: the object that it has
// printed holds the error of `status` already, and ToolMain prints no second one.
absl::Status AlreadyPrinted(absl::Status status);
bool IsAlreadyPrinted(const absl::Status& status);

}  // namespace strata

#endif  // STRATA_CORE_CLI_ERROR_REPORT_H_
