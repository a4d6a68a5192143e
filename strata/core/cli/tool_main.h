// The frame of every command-line tool: flags, help, exit codes, logs and the working directory, so
// that a main holds its flags and its work only.
//
//   DEFINE_bool(json, false, "Print one JSON object instead of text.");
//   absl::Status Run(const std::vector<std::string>& arguments) { ... }
//   int main(int argc, char** argv) {
//     return strata::ToolMain({.usage = "gguf_inspect FILE", .json = &FLAGS_json}, Run, argc,
//     argv);
//   }
//
// - `--help` prints the flags that the tool itself defines and exits 0. Dashes in flag names are
//   underscores, `--no-x-y` is `--nox_y`. A wrong flag or value exits 1.
// - A relative path means the user's: under `bazel run` the process moves to
// $BUILD_WORKING_DIRECTORY first.
// - Logs go to stderr. A failed status is printed there in one line; with --json a refused input is
// also
//   printed on stdout as {"error": {"kind", "message", "file"}}.
// - The exit code is ExitCodeOf(status); output that stdout did not take is kMachine, no memory is
// too.
#ifndef STRATA_CORE_CLI_TOOL_MAIN_H_
#define STRATA_CORE_CLI_TOOL_MAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace strata {

struct ToolInfo {
  std::string usage;           // "gguf_inspect FILE [flags]", with further lines if need be.
  const bool* json = nullptr;  // The tool's --json, if it has one.
};

using ToolRun = absl::Status (*)(const std::vector<std::string>& arguments);

int ToolMain(const ToolInfo& info, ToolRun run, int argc, char** argv);

}  // namespace strata

#endif  // STRATA_CORE_CLI_TOOL_MAIN_H_
