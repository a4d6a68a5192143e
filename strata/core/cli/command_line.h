// What ToolMain does with argv: flag names made uniform, what is asked of every tool, and the flags
// set through gflags.
#ifndef STRATA_CORE_CLI_COMMAND_LINE_H_
#define STRATA_CORE_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace strata {

// The file name of a path: "gguf_inspect".
std::string ToolName(absl::string_view program);

// argv with dashes in flag names as underscores, and `--no-x` as `--nox` where x is a boolean flag.
// Values, positional arguments and whatever follows "--" stay as they are.
std::vector<std::string> NormalizedFlags(int argc, const char* const* argv);

// What is asked before a "--" instead of work: --help (-help, -h), --help=all, --version.
enum class Asked { kWork, kHelp, kAllHelp, kVersion };
Asked WhatIsAsked(const std::vector<std::string>& command_line);

// Names of the flags that are defined in this project's files, sorted.
std::vector<std::string> OurFlags();

// Sets the flags and returns the positional arguments. Takes our flags alone: those that gflags and
// glog bring along read files, print other help or excuse wrong flags. A UsageError about the first
// thing that is wrong; what follows it is set all the same.
absl::StatusOr<std::vector<std::string>> ParseFlags(const std::vector<std::string>& command_line);

}  // namespace strata

#endif  // STRATA_CORE_CLI_COMMAND_LINE_H_
