// What a build of a pack that did not end has done: checksums of the units that it has hashed (and
// whose experts it has written). A build that is started again with the same arguments goes on
// there.
//
// Plain values.
#ifndef STRATA_CACHE_PACK_PACK_CHECKPOINT_H_
#define STRATA_CACHE_PACK_PACK_CHECKPOINT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/checksum.h"

namespace strata {

struct PackCheckpoint {
  Checksum job;        // Of all that the work depends on.
  std::string resume;  // The command that goes on with it.
  // By unit; empty where it is not done.
  std::vector<std::vector<Checksum>> units;

  std::vector<std::byte> Bytes() const;
  // Any bytes at all; nothing is allocated that they do not pay for. `path` is for errors. Kinds:
  // bad_magic, bad_version, bad_checksum and truncated.
  static absl::StatusOr<PackCheckpoint> Parse(absl::Span<const std::byte> bytes,
                                              absl::string_view path);

  // The errors of AtomicFile.
  absl::Status Save(const std::string& path) const;
  // Those of Parse, and io.
  static absl::StatusOr<PackCheckpoint> Load(const std::string& path);
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_CHECKPOINT_H_
