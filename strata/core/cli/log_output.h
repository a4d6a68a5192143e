// Where the libraries' logs (glog) go in a tool: to people as plain lines, without times, threads
// and names of source files.
//
//   warning: asked to pin 512 experts in place, got 384
//
// Warnings are notes (strata/core/note.h): they wait while an answer is printed, and --quiet leaves
// them out. What ends the process (CHECK) is our own mistake, and keeps its place in the source.
#ifndef STRATA_CORE_CLI_LOG_OUTPUT_H_
#define STRATA_CORE_CLI_LOG_OUTPUT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace strata {

// Once, before anything is logged. `program` is argv[0] and outlives the process's logs.
void StartLogs(const char* program);

// "error", "warning" (as it starts) or "info": the least that is shown. A UsageError otherwise.
absl::Status SetLogLevel(absl::string_view level);

}  // namespace strata

#endif  // STRATA_CORE_CLI_LOG_OUTPUT_H_
