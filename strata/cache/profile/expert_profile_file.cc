#include "strata/cache/profile/expert_profile_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/core/atomic_file.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/little_endian.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr absl::string_view kMagic = "STRAPROF";
constexpr uint32_t kVersion = 1;
constexpr size_t kChecksumBytes = 16;
constexpr size_t kPreambleBytes = 20;  // Magic, version, and the length of what follows.

void AppendChecksum(const Checksum& checksum, LittleEndianWriter& writer) {
  writer.Number(checksum.low).Number(checksum.high);
}

// The bytes between preamble and checksum, once length and checksum are right.
absl::StatusOr<absl::Span<const std::byte>> CheckedBody(absl::Span<const std::byte> bytes) {
  LittleEndianReader reader(bytes);
  if (reader.Text(kMagic.size()) != kMagic) {
    return InputError("bad_magic", "", "it is no profile: it does not begin with STRAPROF");
  }
  const auto version = reader.Number<uint32_t>();
  if (!reader.failed() && version != kVersion) {
    return InputError("bad_version", "",
                      absl::StrCat("a profile of version ", version, "; known is ", kVersion));
  }
  const auto body_bytes = reader.Number<uint64_t>();
  if (reader.failed() || reader.bytes_left() < kChecksumBytes ||
      body_bytes > reader.bytes_left() - kChecksumBytes) {
    return InputError("truncated", "",
                      absl::StrCat("the file ends after ", bytes.size(),
                                   " bytes, before the end of the profile"));
  }
  if (body_bytes < reader.bytes_left() - kChecksumBytes) {
    return InputError("bad_length", "",
                      absl::StrCat(reader.bytes_left() - kChecksumBytes - body_bytes,
                                   " bytes follow the end of the profile"));
  }
  const absl::Span<const std::byte> body = reader.Raw(body_bytes);
  Checksum found;
  found.low = reader.Number<uint64_t>();
  found.high = reader.Number<uint64_t>();
  if (found != ChecksumOf(bytes.first(kPreambleBytes + body_bytes))) {
    return InputError("bad_checksum", "", "its checksum is not that of its bytes: it is damaged");
  }
  return body;
}

absl::StatusOr<std::set<std::string>> ReadSources(LittleEndianReader& reader) {
  std::set<std::string> sources;
  std::string last;
  for (auto left = reader.Number<uint32_t>(); left > 0 && !reader.failed(); --left) {
    const auto num_bytes = reader.Number<uint8_t>();
    std::string label(reader.Text(num_bytes));
    if (reader.failed()) break;
    if (label <= last) return InputError("bad_source", "", "its sources are out of order");
    last = label;
    sources.insert(std::move(label));
  }
  return sources;
}

absl::StatusOr<ExpertProfile> ParseBody(absl::Span<const std::byte> body) {
  LittleEndianReader reader(body);
  ASSIGN_OR_RETURN(ModelIdentity identity, ModelIdentity::Read(reader));
  const auto num_tokens = reader.Number<uint64_t>();
  const auto num_counts = static_cast<uint64_t>(identity.geometry.size());
  if (num_counts > reader.bytes_left() / sizeof(uint64_t)) {
    return InputError("truncated", "", "it has fewer counts than experts");
  }
  std::vector<uint64_t> counts(num_counts);
  for (uint64_t& count : counts) count = reader.Number<uint64_t>();
  ASSIGN_OR_RETURN(std::set<std::string> sources, ReadSources(reader));
  if (reader.failed()) return InputError("truncated", "", "it ends inside its sources");
  if (reader.bytes_left() > 0) {
    return InputError("bad_length", "", absl::StrCat(reader.bytes_left(), " bytes too many"));
  }
  return ExpertProfile::Create(std::move(identity), std::move(counts), num_tokens,
                               std::move(sources));
}

}  // namespace

std::vector<std::byte> ProfileBytes(const ExpertProfile& profile) {
  LittleEndianWriter body;
  profile.identity().AppendTo(body);
  body.Number(profile.num_tokens());
  for (const uint64_t count : profile.counts()) body.Number(count);
  body.Number(static_cast<uint32_t>(profile.sources().size()));
  for (const std::string& label : profile.sources()) {
    body.Number(static_cast<uint8_t>(label.size())).Raw(label);
  }
  LittleEndianWriter file;
  file.Raw(kMagic).Number(kVersion).Number(uint64_t{body.bytes().size()}).Raw(body.bytes());
  AppendChecksum(ChecksumOf(file.bytes()), file);
  return file.bytes();
}

absl::StatusOr<ExpertProfile> ParseProfile(absl::Span<const std::byte> bytes,
                                           absl::string_view path) {
  const absl::StatusOr<absl::Span<const std::byte>> body = CheckedBody(bytes);
  if (!body.ok()) return WithFile(body.status(), path);
  absl::StatusOr<ExpertProfile> profile = ParseBody(*body);
  if (!profile.ok()) return WithFile(profile.status(), path);
  return profile;
}

absl::StatusOr<ExpertProfile> LoadProfile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  absl::StatusOr<ExpertProfile> profile = ParseProfile(file->bytes(), path);
  RETURN_IF_ERROR(file->CheckUnchanged());
  return profile;
}

absl::StatusOr<ExpertProfile> LoadProfileOf(const ModelIdentity& model, const std::string& path) {
  ASSIGN_OR_RETURN(ExpertProfile profile, LoadProfile(path));
  if (const absl::Status status = profile.CheckIsOf(model); !status.ok()) {
    return WithFile(status, path);
  }
  return profile;
}

absl::Status SaveProfile(const ExpertProfile& profile, const std::string& path) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(ProfileBytes(profile)));
  return file.Commit();
}

}  // namespace strata
