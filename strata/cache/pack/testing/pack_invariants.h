// What must hold of whatever the readers of packs accept. Each function says what is broken; empty
// when nothing is.
#ifndef STRATA_CACHE_PACK_TESTING_PACK_INVARIANTS_H_
#define STRATA_CACHE_PACK_TESTING_PACK_INVARIANTS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

// Any bytes as a manifest: refused with a documented kind, or sound and its own text again.
std::string BrokenManifest(absl::string_view text);

// Any bytes as what an unfinished build has done.
std::string BrokenCheckpoint(absl::Span<const std::byte> bytes);

// Any bytes as the experts.bin of a pack in this folder, whose own are `right`: refused, or each
// difference is found.
std::string BrokenExperts(const std::string& folder, absl::string_view right,
                          absl::string_view bytes);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_TESTING_PACK_INVARIANTS_H_
