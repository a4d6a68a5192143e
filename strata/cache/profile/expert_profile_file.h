// Profiles in files (docs/formats.md): checksummed, written whole or not at all, and canonical: the
// same profile is the same bytes.
#ifndef STRATA_CACHE_PROFILE_EXPERT_PROFILE_FILE_H_
#define STRATA_CACHE_PROFILE_EXPERT_PROFILE_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/profile/expert_profile.h"

namespace strata {

std::vector<std::byte> ProfileBytes(const ExpertProfile& profile);

// Any bytes at all; nothing is allocated that they do not pay for. `path` is for errors. Kinds:
// bad_magic, bad_version, truncated, bad_length, bad_checksum, bad_geometry, size_overflow,
// bad_source.
absl::StatusOr<ExpertProfile> ParseProfile(absl::Span<const std::byte> bytes,
                                           absl::string_view path);

// Those, and io and changed.
absl::StatusOr<ExpertProfile> LoadProfile(const std::string& path);
// The same of a profile that must have been made with `model`: kind profile_mismatch.
absl::StatusOr<ExpertProfile> LoadProfileOf(const ModelIdentity& model, const std::string& path);

// Kill at any moment leaves the old file or this one. The errors of AtomicFile.
absl::Status SaveProfile(const ExpertProfile& profile, const std::string& path);

}  // namespace strata

#endif  // STRATA_CACHE_PROFILE_EXPERT_PROFILE_FILE_H_
