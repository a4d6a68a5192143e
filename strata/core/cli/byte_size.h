// Sizes as people write them on a command line: "12GiB", "512MiB", "1.5GB", "4096".
//
// Units: B, KiB, MiB, GiB, TiB are powers of 1024, and so are K, M, G, T, as most programs take them;
// KB, MB, GB, TB are powers of 1000; case does not matter; no unit means bytes.
#ifndef STRATA_CORE_CLI_BYTE_SIZE_H_
#define STRATA_CORE_CLI_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace strata {

// A UsageError that names `text` when it is no size, is negative or does not fit an int64.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

// For people: "0 B", "999 B", "1.41 MiB", "35.5 GiB"; three digits that matter.
std::string FormatByteSize(int64_t bytes);

}  // namespace strata

#endif  // STRATA_CORE_CLI_BYTE_SIZE_H_
