// The error of a step that met NaN or infinity. Their bits differ between CPU and GPU, so kernels
// report them (a bool on the host, a flag on the device) and the step ends with this.
#ifndef STRATA_GENERATE_KERNELS_NOT_FINITE_H_
#define STRATA_GENERATE_KERNELS_NOT_FINITE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"

namespace strata {

// An input error of kind "nan_logits" without a file; `what` as in "layer 3: the router's logits".
inline absl::Status NotFiniteError(absl::string_view what) {
  return InputError("nan_logits", "",
                    absl::StrCat(what, ": a value is not a number or infinite, expected finite"));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_NOT_FINITE_H_
