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
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/command_line.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/printable.h"
#include "strata/core/refusal.h"

namespace strata {
namespace {

constexpr size_t kMaxPathBytes = 4096;

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
  const std::string kind = ErrorKind(status);
  const std::string file = ErrorFile(status);
  std::string line = absl::StrCat(tool, ": error: ");
  if (!file.empty() || !kind.empty()) {
    absl::StrAppend(&line, file.empty() ? "''" : Printable(file, kMaxPathBytes), ": ");
  }
  absl::StrAppend(&line, WithoutControls(status.message()),
                  kind.empty() ? "" : absl::StrCat(" [", kind, "]"));
  std::cerr << line << std::endl;
  if (json && !kind.empty()) {
    PrintJson({{"error", {{"kind", kind}, {"message", status.message()}, {"file", file}}}});
  }
}

absl::Status FlushOutput() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    return MachineError("standard output did not take all that was written");
  }
  return absl::OkStatus();
}

}  // namespace

int ToolMain(const ToolInfo& info, ToolRun run, int argc, char** argv) {
  OccupyStandardStreams();
  // A file that may grow no more is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  InitRunfiles(argv[0]);
  const std::string tool = ToolName(argv[0]);
  std::vector<std::string> command_line = NormalizedFlags(argc, argv);
  if (AsksForHelp(command_line)) {
    std::cout << HelpText(info.usage);
    return static_cast<int>(ExitCodeOf(FlushOutput()));
  }
  // gflags prints its message and exits with 1, the code of a wrong command line.
  const std::vector<std::string> arguments = ParseFlags(command_line);
  EnterUsersDirectory();
  absl::Status status = CatchRefusal([&] { return run(arguments); });
  if (status.ok()) status = FlushOutput();
  if (!status.ok()) PrintError(status, tool, info.json != nullptr && *info.json);
  std::cout.flush();
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace strata
