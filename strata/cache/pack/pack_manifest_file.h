// Manifests in files: JSON that ends in a checksum of all that stands before it (docs/formats.md).
#ifndef STRATA_CACHE_PACK_PACK_MANIFEST_FILE_H_
#define STRATA_CACHE_PACK_PACK_MANIFEST_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/cache/pack/pack_manifest.h"

namespace strata {

std::string ManifestText(const PackManifest& manifest);
// `body` with the checksum at its end: for tests of what a checksum does not catch.
std::string WithManifestChecksum(absl::string_view body);

// Any bytes at all; nothing is allocated that they do not pay for. `path` is for errors. Kinds:
// bad_magic, bad_version, bad_checksum, and bad_manifest.
absl::StatusOr<PackManifest> ParseManifest(absl::string_view text, absl::string_view path);

// Those, and io and changed.
absl::StatusOr<PackManifest> LoadManifest(const std::string& path);
// Kill at any moment leaves the old file or this one. The errors of AtomicFile.
absl::Status SaveManifest(const PackManifest& manifest, const std::string& path);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_MANIFEST_FILE_H_
