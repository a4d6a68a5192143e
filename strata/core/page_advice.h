// What a program tells the system of mapped bytes that it is going to read. Nothing of it changes
// what is read, and a system that takes no advice is none the worse for it.
//
// Thread-safe.
#ifndef STRATA_CORE_PAGE_ADVICE_H_
#define STRATA_CORE_PAGE_ADVICE_H_

#include <cstddef>

#include "absl/types/span.h"

namespace strata {

// A few bytes here and there: the system reads no pages beside those that are asked for. It holds
// for the whole pages inside.
void AdviseScatteredReads(absl::Span<const std::byte> bytes);

// These soon: the system begins to read the pages that they lie in, and does not wait for them.
void AdviseReadSoon(absl::Span<const std::byte> bytes);

}  // namespace strata

#endif  // STRATA_CORE_PAGE_ADVICE_H_
