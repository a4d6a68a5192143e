#include "strata/core/cli/tool_main.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
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

namespace strata {
namespace {

// Bazel starts programs elsewhere and says where the user was.
void EnterUsersDirectory() {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory == nullptr || *directory == '\0') return;
  if (chdir(directory) != 0) PLOG(WARNING) << "cannot enter BUILD_WORKING_DIRECTORY " << directory;
}

void PrintError(const absl::Status& status, const std::string& tool, bool json) {
  const std::string kind = ErrorKind(status);
  const std::string file = ErrorFile(status);
  std::cerr << tool << ": error: " << (file.empty() ? "" : absl::StrCat(file, ": "))
            << status.message() << (kind.empty() ? "" : absl::StrCat(" [", kind, "]")) << std::endl;
  if (json && !kind.empty()) {
    PrintJson({{"error", {{"kind", kind}, {"message", status.message()}, {"file", file}}}});
  }
}

absl::Status RunAndFlush(ToolRun run, const std::vector<std::string>& arguments) {
  try {
    absl::Status status = run(arguments);
    if (!status.ok()) return status;
  } catch (const std::bad_alloc&) {
    return MachineError("out of memory");
  }
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    return MachineError("standard output did not take all that was written");
  }
  return absl::OkStatus();
}

}  // namespace

int ToolMain(const ToolInfo& info, ToolRun run, int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  InitRunfiles(argv[0]);
  const std::string tool = ToolName(argv[0]);
  std::vector<std::string> command_line = NormalizedFlags(argc, argv);
  if (AsksForHelp(command_line)) {
    std::cout << HelpText(info.usage);
    return static_cast<int>(ExitCode::kDone);
  }
  // gflags prints its message and exits with 1, the code of a wrong command line.
  const std::vector<std::string> arguments = ParseFlags(command_line);
  EnterUsersDirectory();
  const absl::Status status = RunAndFlush(run, arguments);
  if (!status.ok()) PrintError(status, tool, info.json != nullptr && *info.json);
  std::cout.flush();
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace strata
