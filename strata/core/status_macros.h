// Two macros that chain steps returning absl::Status or absl::StatusOr.
#ifndef STRATA_CORE_STATUS_MACROS_H_
#define STRATA_CORE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function when `expression`, an absl::Status, is not ok.
#define RETURN_IF_ERROR(expression)                           \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

// ASSIGN_OR_RETURN(Lhs lhs, expression): the value of `expression`, an absl::StatusOr, goes to
// `lhs`; an error returns from the enclosing function.
#define ASSIGN_OR_RETURN(lhs, expression) \
  STRATA_ASSIGN_OR_RETURN_(STRATA_CONCAT_(status_or_, __LINE__), lhs, expression)

#define STRATA_CONCAT_INNER_(a, b) a##b
#define STRATA_CONCAT_(a, b) STRATA_CONCAT_INNER_(a, b)
#define STRATA_ASSIGN_OR_RETURN_(result, lhs, expression) \
  auto result = (expression);                             \
  if (!result.ok()) return std::move(result).status();    \
  lhs = *std::move(result)

#endif  // STRATA_CORE_STATUS_MACROS_H_
