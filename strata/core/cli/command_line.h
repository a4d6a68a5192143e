// What ToolMain does with argv: flag names made uniform, help of our own flags, gflags' parsing.
#ifndef STRATA_CORE_CLI_COMMAND_LINE_H_
#define STRATA_CORE_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace strata {

// The file name of a path: "gguf_inspect".
std::string ToolName(absl::string_view program);

// argv with dashes in flag names as underscores, and `--no-x` as `--nox` where x is a boolean flag.
// Values, positional arguments and whatever follows "--" stay as they are.
std::vector<std::string> NormalizedFlags(int argc, const char* const* argv);

// True for --help, -help and -h before a "--".
bool AsksForHelp(const std::vector<std::string>& command_line);

// The usage and the flags defined in this project's files, each with its default.
std::string HelpText(absl::string_view usage);

// Sets the flags and returns the positional arguments. A wrong flag ends the process with code 1.
std::vector<std::string> ParseFlags(const std::vector<std::string>& command_line);

}  // namespace strata

#endif  // STRATA_CORE_CLI_COMMAND_LINE_H_
