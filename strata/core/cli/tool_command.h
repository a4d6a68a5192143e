// Commands of a tool that has several, each with flags of its own: `profile_build merge --out FILE`.
#ifndef STRATA_CORE_CLI_TOOL_COMMAND_H_
#define STRATA_CORE_CLI_TOOL_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace strata {

struct ToolCommand {
  std::string name;
  std::vector<std::string> flags;  // Those that it takes.
  absl::Status (*run)(const std::vector<std::string>& arguments);
};

// Runs the command that the first of `arguments` names, with the others. A UsageError when there is
// none of that name, and for a flag on the command line that only other commands take.
absl::Status RunCommand(absl::Span<const ToolCommand> commands,
                        const std::vector<std::string>& arguments);

}  // namespace strata

#endif  // STRATA_CORE_CLI_TOOL_COMMAND_H_
