// Reads a part of a mapped file by requests, past its mapping: the disk sees large reads, and a
// file that became shorter is an error of the call.
#ifndef STRATA_CORE_READ_AT_H_
#define STRATA_CORE_READ_AT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/file_mapping.h"

namespace strata {

// Fills `into` from the file's byte `offset` on. Kind "io", or "changed" when the file ends before;
// the message begins "reading WHAT".
absl::Status ReadAt(const FileMapping& file, int64_t offset, absl::Span<std::byte> into,
                    absl::string_view what);

}  // namespace strata

#endif  // STRATA_CORE_READ_AT_H_
