// The flags of `generate` about the choice of tokens.
#ifndef STRATA_GENERATE_COMMANDS_SAMPLING_FLAGS_H_
#define STRATA_GENERATE_COMMANDS_SAMPLING_FLAGS_H_

#include "absl/status/statusor.h"
#include "strata/generate/sampling/sampling_request.h"

namespace strata {

// What the command line said, and nothing else. A UsageError for a value that is out of range.
absl::StatusOr<SamplingRequest> SamplingFromFlags();

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_SAMPLING_FLAGS_H_
