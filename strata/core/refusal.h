// What the standard library throws where the machine has no more memory or threads, as a status.
// Nothing else throws here, so it is caught where a tool's run begins, and at the beginning of each
// thread that may be refused something: one that lets it pass ends the process.
#ifndef STRATA_CORE_REFUSAL_H_
#define STRATA_CORE_REFUSAL_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace strata {

// What `run` returns; the machine's error when it throws.
absl::Status CatchRefusal(absl::FunctionRef<absl::Status()> run);

}  // namespace strata

#endif  // STRATA_CORE_REFUSAL_H_
