#include "strata/cache/pack/pack_checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/atomic_file.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/little_endian.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr absl::string_view kMagic = "STRAPACK";
constexpr uint32_t kVersion = 1;
constexpr size_t kChecksumBytes = 16;

void Append(const Checksum& checksum, LittleEndianWriter& writer) {
  writer.Number(checksum.low).Number(checksum.high);
}

Checksum ReadChecksum(LittleEndianReader& reader) {
  Checksum checksum;
  checksum.low = reader.Number<uint64_t>();
  checksum.high = reader.Number<uint64_t>();
  return checksum;
}

}  // namespace

std::vector<std::byte> PackCheckpoint::Bytes() const {
  LittleEndianWriter writer;
  writer.Raw(kMagic).Number(kVersion);
  Append(job, writer);
  writer.Number(static_cast<uint32_t>(resume.size())).Raw(resume);
  writer.Number(static_cast<uint64_t>(units.size()));
  for (const std::vector<Checksum>& unit : units) {
    writer.Number(static_cast<uint64_t>(unit.size()));
    for (const Checksum& hash : unit) Append(hash, writer);
  }
  Append(ChecksumOf(writer.bytes()), writer);
  return writer.bytes();
}

absl::StatusOr<PackCheckpoint> PackCheckpoint::Parse(absl::Span<const std::byte> bytes,
                                                     absl::string_view path) {
  LittleEndianReader reader(bytes);
  if (reader.Text(kMagic.size()) != kMagic) {
    return InputError("bad_magic", path, "it is no unfinished pack");
  }
  if (const auto version = reader.Number<uint32_t>(); version != kVersion) {
    return InputError("bad_version", path,
                      absl::StrCat("version ", version, "; known is ", kVersion));
  }
  if (bytes.size() < kChecksumBytes) return InputError("truncated", path, "it ends too early");
  LittleEndianReader last(bytes.last(kChecksumBytes));
  if (ReadChecksum(last) != ChecksumOf(bytes.first(bytes.size() - kChecksumBytes))) {
    return InputError("bad_checksum", path, "it is damaged");
  }
  PackCheckpoint checkpoint = {.job = ReadChecksum(reader)};
  checkpoint.resume = std::string(reader.Text(reader.Number<uint32_t>()));
  const absl::Status truncated =
      InputError("truncated", path, "its records are not as long as it is");
  const auto num_units = reader.Number<uint64_t>();
  if (num_units > reader.bytes_left() / sizeof(uint64_t)) return truncated;
  checkpoint.units.resize(num_units);
  for (std::vector<Checksum>& unit : checkpoint.units) {
    const auto num_hashes = reader.Number<uint64_t>();
    if (num_hashes > reader.bytes_left() / kChecksumBytes) return truncated;
    unit.resize(num_hashes);
    for (Checksum& hash : unit) hash = ReadChecksum(reader);
  }
  if (reader.failed() || reader.bytes_left() != kChecksumBytes) return truncated;
  return checkpoint;
}

absl::Status PackCheckpoint::Save(const std::string& path) const {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(Bytes()));
  return file.Commit();
}

absl::StatusOr<PackCheckpoint> PackCheckpoint::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  absl::StatusOr<PackCheckpoint> checkpoint = Parse(file->bytes(), path);
  RETURN_IF_ERROR(file->CheckUnchanged());
  return checkpoint;
}

}  // namespace strata
