// The files that a command line names, before any of them is written to: a result must not take the
// place of what it is made from, nor of another result.
#ifndef STRATA_CORE_CLI_OUTPUT_FILES_H_
#define STRATA_CORE_CLI_OUTPUT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace strata {

struct NamedFile {
  std::string role;  // For the message: the flag that names it, or what it is.
  std::string path;  // Empty: none.
};

// A UsageError when an output is one of the inputs, under whatever name, or two outputs are one
// file. Devices and pipes may be named as often as one likes: writing to them replaces nothing.
absl::Status CheckOutputs(absl::Span<const NamedFile> outputs, absl::Span<const NamedFile> inputs);

}  // namespace strata

#endif  // STRATA_CORE_CLI_OUTPUT_FILES_H_
