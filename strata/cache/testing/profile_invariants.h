// What must hold for any bytes that were read as a profile or as a routing trace, and files that
// are wrong under right checksums. Shared by the mutation test and the fuzz targets.
#ifndef STRATA_CACHE_TESTING_PROFILE_INVARIANTS_H_
#define STRATA_CACHE_TESTING_PROFILE_INVARIANTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace strata {

// Empty when all is well; else what is not. A refusal must be of a documented kind and name a file;
// an accepted profile must be these bytes, and rank all its experts.
std::string BrokenProfile(absl::Span<const std::byte> bytes);

// The same of the file at `path`, read to its end: records are of the trace's geometry.
std::string BrokenTrace(const std::string& path);

// A profile of this body, and a trace of a header and one block of records, with right lengths and
// checksums.
std::vector<std::byte> ProfileOfBody(absl::Span<const std::byte> body);
std::vector<std::byte> TraceOfPayloads(absl::Span<const std::byte> header,
                                       absl::Span<const std::byte> records);

}  // namespace strata

#endif  // STRATA_CACHE_TESTING_PROFILE_INVARIANTS_H_
