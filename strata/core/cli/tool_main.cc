#include "strata/core/cli/tool_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gflags/gflags.h"
#include "glog/logging.h"
#include "strata/core/cli/command_line.h"
#include "strata/core/cli/error_report.h"
#include "strata/core/cli/flag_help.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/log_output.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/cli/version.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/refusal.h"
#include "strata/core/status_macros.h"

DEFINE_bool(quiet, false, "No notes and no progress on stderr: errors alone.");
DEFINE_string(log_level, "warning",
              "The least that is shown of what the program logs: error, warning or info.");

namespace strata {
namespace {

// A closed standard stream would lend its number to the next file that is opened, which would then
// be read as the user's input or be written over by output. What is closed stays useless: reading
// and writing fail.
void OccupyStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    PCHECK(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd);
  }
}

// Bazel starts programs elsewhere and says where the user was.
void EnterUsersDirectory() {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory == nullptr || *directory == '\0') return;
  if (chdir(directory) != 0) PLOG(WARNING) << "cannot enter BUILD_WORKING_DIRECTORY " << directory;
}

void PrintError(const absl::Status& status, const std::string& tool, bool json) {
  std::cerr << ErrorLine(tool, status) << std::endl;
  if (json && !IsAlreadyPrinted(status)) PrintJson({{"error", ErrorJson(status)}});
}

absl::Status FlushOutput() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    return MachineError("standard output did not take all that was written");
  }
  return absl::OkStatus();
}

// Instead of work. False when work is what is asked for.
bool PrintedWhatIsAsked(const ToolInfo& info, const std::string& tool, Asked asked) {
  if (asked == Asked::kWork) return false;
  if (asked == Asked::kVersion) {
    std::cout << tool << " of Strata " << kVersion << "\n";
    return true;
  }
  std::vector<FlagGroup> groups = info.groups;
  groups.push_back({.title = "Of every tool", .flags = {"quiet", "log_level LEVEL"}});
  std::cout << HelpText(info.usage, groups, asked == Asked::kAllHelp)
            << "\n--version prints the version.\n";
  return true;
}

absl::Status RunWork(ToolRun run, const std::vector<std::string>& command_line) {
  const absl::StatusOr<std::vector<std::string>> arguments = ParseFlags(command_line);
  RETURN_IF_ERROR(arguments.status());
  RETURN_IF_ERROR(SetLogLevel(FLAGS_log_level));
  if (FLAGS_quiet) TurnOffNotes();
  EnterUsersDirectory();
  return CatchRefusal([&] { return run(*arguments); });
}

}  // namespace

int ToolMain(const ToolInfo& info, ToolRun run, int argc, char** argv) {
  OccupyStandardStreams();
  // A file that may grow no more is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  StartLogs(argv[0]);
  InitRunfiles(argv[0]);
  const std::string tool = ToolName(argv[0]);
  const std::vector<std::string> command_line = NormalizedFlags(argc, argv);
  if (PrintedWhatIsAsked(info, tool, WhatIsAsked(command_line))) {
    return static_cast<int>(ExitCodeOf(FlushOutput()));
  }
  absl::Status status = RunWork(run, command_line);
  if (status.ok()) status = FlushOutput();
  if (!status.ok()) PrintError(status, tool, info.json != nullptr && *info.json);
  std::cout.flush();
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace strata
