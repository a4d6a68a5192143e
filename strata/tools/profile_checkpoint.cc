#include "strata/tools/profile_checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/core/atomic_file.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/little_endian.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr absl::string_view kMagic = "STRAPART";
constexpr uint32_t kVersion = 1;

Checksum ReadChecksum(LittleEndianReader& reader) {
  Checksum checksum;
  checksum.low = reader.Number<uint64_t>();
  checksum.high = reader.Number<uint64_t>();
  return checksum;
}

absl::StatusOr<ProfileCheckpoint> Read(const std::string& path, const Checksum& job) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  LittleEndianReader reader(file->bytes());
  if (reader.Text(kMagic.size()) != kMagic || reader.Number<uint32_t>() != kVersion) {
    return InputError("bad_magic", path, "it is no unfinished profile of this version");
  }
  const Checksum of_job = ReadChecksum(reader);
  const auto num_texts = reader.Number<uint64_t>();
  const auto num_contexts = reader.Number<uint64_t>();
  const uint64_t checked_bytes = file->bytes().size() - reader.bytes_left();
  const Checksum expected = ReadChecksum(reader);
  if (reader.failed() || expected != ChecksumOf(file->bytes().first(checked_bytes))) {
    return InputError("bad_checksum", path, "it is damaged");
  }
  if (of_job != job) {
    return InputError("profile_mismatch", path, "it is of another model, texts or settings");
  }
  ASSIGN_OR_RETURN(ExpertProfile profile, ParseProfile(reader.Raw(reader.bytes_left()), path));
  return ProfileCheckpoint{.job = job,
                           .num_texts = num_texts,
                           .num_contexts = num_contexts,
                           .profile = std::move(profile)};
}

}  // namespace

absl::Status ProfileCheckpoint::Save(const std::string& path) const {
  LittleEndianWriter writer;
  writer.Raw(kMagic).Number(kVersion).Number(job.low).Number(job.high);
  writer.Number(num_texts).Number(num_contexts);
  const Checksum checksum = ChecksumOf(writer.bytes());
  writer.Number(checksum.low).Number(checksum.high).Raw(ProfileBytes(profile));
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(writer.bytes()));
  return file.Commit();
}

absl::Status ProfileCheckpoint::CheckPlace(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  LittleEndianReader reader(file->bytes());
  if (reader.Text(kMagic.size()) == kMagic) return absl::OkStatus();
  return InputError("bad_magic", path,
                    "what is done so far would be written here, over a file that is no unfinished "
                    "profile");
}

std::optional<ProfileCheckpoint> ProfileCheckpoint::Load(const std::string& path,
                                                         const Checksum& job) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return std::nullopt;
  absl::StatusOr<ProfileCheckpoint> checkpoint = Read(path, job);
  if (checkpoint.ok()) return *std::move(checkpoint);
  LOG(WARNING) << path << ": starting anew: " << checkpoint.status().message();
  return std::nullopt;
}

}  // namespace strata
