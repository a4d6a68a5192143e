#include "strata/core/refusal.h"

#include <new>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "strata/core/error.h"

namespace strata {

absl::Status CatchRefusal(absl::FunctionRef<absl::Status()> run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return MachineError("out of memory");
  } catch (const std::system_error& error) {  // A thread that could not be started.
    return MachineError(absl::StrCat("the system refused: ", error.what()));
  }
}

}  // namespace strata
