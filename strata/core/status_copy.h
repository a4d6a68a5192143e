// A status for another thread.
//
// Copies of a status share their text and count its holders. The packaged Abseil is not
// instrumented for ThreadSanitizer, which then cannot see the counting and reports the last
// holder's delete.
#ifndef STRATA_CORE_STATUS_COPY_H_
#define STRATA_CORE_STATUS_COPY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace strata {

// The same status with another message, sharing nothing.
inline absl::Status WithMessage(const absl::Status& status, absl::string_view message) {
  absl::Status copy(status.code(), message);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    copy.SetPayload(url, absl::Cord(std::string(payload)));
  });
  return copy;
}

// The same status, sharing nothing.
inline absl::Status DeepCopy(const absl::Status& status) {
  return WithMessage(status, status.message());
}

// "prefix: message".
inline absl::Status WithPrefix(absl::string_view prefix, const absl::Status& status) {
  return WithMessage(status, absl::StrCat(prefix, ": ", status.message()));
}

}  // namespace strata

#endif  // STRATA_CORE_STATUS_COPY_H_
