// The frame of every command-line tool: flags, help, exit codes, logs and the working directory, so
// that a main holds its flags and its work only.
//
//   DEFINE_bool(json, false, "Print one JSON object instead of text.");
//   absl::Status Run(const std::vector<std::string>& arguments) { ... }
//   int main(int argc, char** argv) {
//     return strata::ToolMain({.usage = "gguf_inspect FILE",
//                              .json = &FLAGS_json,
//                              .groups = {{.title = "Output", .flags = {"json"}}}},
//                             Run, argc, argv);
//   }
//
// - `--help` prints the flags that are used most, `--help=all` all of them, `--version` the version;
//   they exit 0. Dashes in flag names are underscores, `--no-x-y` is `--nox_y`.
// - A relative path means the user's: under `bazel run` the process moves to
//   $BUILD_WORKING_DIRECTORY first.
// - Notes (strata/core/note.h) and logs go to stderr in plain lines: `--quiet` leaves notes and
//   progress out, `--log_level` says what of the log is shown.
// - A failed status is one line on stderr, and with --json an object on stdout (error_report.h).
//   That holds for wrong flags, too.
// - The exit code is ExitCodeOf(status); output that stdout did not take is kMachine, no memory is
//   too.
#ifndef STRATA_CORE_CLI_TOOL_MAIN_H_
#define STRATA_CORE_CLI_TOOL_MAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "strata/core/cli/flag_help.h"

namespace strata {

struct ToolInfo {
  std::string usage;           // "gguf_inspect FILE [flags]", with further lines if need be.
  const bool* json = nullptr;  // The tool's --json, if it has one.
  // For --help; the flags of every tool need not be named. Empty: flags in the order of their names.
  std::vector<FlagGroup> groups = {};
};

using ToolRun = absl::Status (*)(const std::vector<std::string>& arguments);

int ToolMain(const ToolInfo& info, ToolRun run, int argc, char** argv);

}  // namespace strata

#endif  // STRATA_CORE_CLI_TOOL_MAIN_H_
