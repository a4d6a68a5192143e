#include "strata/core/cli/tool_command.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

absl::Status CheckFlags(absl::Span<const ToolCommand> commands, const ToolCommand& command) {
  for (const ToolCommand& other : commands) {
    for (const std::string& flag : other.flags) {
      if (gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default) continue;
      if (std::find(command.flags.begin(), command.flags.end(), flag) == command.flags.end()) {
        return UsageError(absl::StrCat("--", flag, " does not go with ", command.name));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCommand(absl::Span<const ToolCommand> commands,
                        const std::vector<std::string>& arguments) {
  if (arguments.empty()) return UsageError("name a command; --help lists them");
  for (const ToolCommand& command : commands) {
    if (command.name != arguments[0]) continue;
    RETURN_IF_ERROR(CheckFlags(commands, command));
    return command.run(std::vector<std::string>(arguments.begin() + 1, arguments.end()));
  }
  return UsageError(absl::StrCat("there is no command ", arguments[0], "; --help lists them"));
}

}  // namespace strata
