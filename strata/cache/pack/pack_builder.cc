#include "strata/cache/pack/pack_builder.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/pack/pack_checkpoint.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/pack_plan.h"
#include "strata/cache/pack/unit_hasher.h"
#include "strata/core/checksum.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/file_mapping.h"
#include "strata/core/little_endian.h"
#include "strata/core/read_at.h"
#include "strata/core/shared_work.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Of a manifest, for one checksum, with some room to spare.
constexpr int64_t kManifestBytesPerHash = 64;
constexpr int64_t kManifestBytes = int64_t{1} << 20;

int64_t ManifestBytes(const PackManifest& manifest, absl::Span<const PackUnit> units) {
  int64_t num_hashes = 0;
  for (const PackUnit& unit : units) {
    num_hashes += static_cast<int64_t>(NumHashes(manifest, unit));
  }
  return kManifestBytes + num_hashes * kManifestBytesPerHash;
}

}  // namespace

PackBuilder::PackBuilder(const GgufFile& file, const ExpertLayout& layout,
                         const ModelIdentity& identity, Options options)
    : file_(file),
      options_(std::move(options)),
      folder_(options_.folder),
      manifest_(PlanManifest(file, layout, identity)),
      units_(UnitsOf(manifest_)) {
  manifest_.tool = options_.tool;
  manifest_.model = std::filesystem::absolute(file.shards()[0]->path()).string();
  if (options_.writes_experts) {
    manifest_.layout = PackLayout::Create(manifest_.BlobBytes(), options_.order_of_experts);
    manifest_.layout->order = options_.order;
  }
  for (const auto& shard : file.shards()) shards_.push_back(&shard->mapping());
  for (const PackUnit& unit : units_) num_bytes_ += unit.bytes;
}

absl::StatusOr<std::unique_ptr<PackBuilder>> PackBuilder::Create(const GgufFile& file,
                                                                 const ExpertLayout& layout,
                                                                 const ModelIdentity& identity,
                                                                 Options options) {
  auto builder = absl::WrapUnique(new PackBuilder(file, layout, identity, std::move(options)));
  RETURN_IF_ERROR(builder->Prepare());
  return builder;
}

absl::Status PackBuilder::Prepare() {
  ASSIGN_OR_RETURN(FileDescriptor lock, folder_.Lock());
  lock_.emplace(std::move(lock));
  RETURN_IF_ERROR(folder_.CheckFiles());
  RETURN_IF_ERROR(folder_.RemoveTemporaries());
  Resume();
  const bool is_written = HasItsExperts();
  const int64_t experts_bytes =
      manifest_.layout.has_value() && !is_written ? manifest_.layout->bytes : 0;
  RETURN_IF_ERROR(CheckRoom(folder_.path(), experts_bytes + ManifestBytes(manifest_, units_),
                            folder_.partial_experts()));
  {
    // From here on the folder says that a build is under way.
    MutexLock lock_checkpoint(&mutex_);
    RETURN_IF_ERROR(SaveCheckpoint());
  }
  if (experts_bytes == 0) return RemoveFile(folder_.partial_experts());
  ASSIGN_OR_RETURN(experts_, ExpertsWriter::Open(folder_.partial_experts(), experts_bytes,
                                                 /*keep=*/num_bytes_done_ > 0));
  return absl::OkStatus();
}

// Times and numbers of files are no identity: here they only speak against going on with what was
// read from a file that has been written since.
Checksum PackBuilder::Job() const {
  LittleEndianWriter writer;
  for (const Checksum& hash : {manifest_.routers, manifest_.experts}) {
    writer.Number(hash.low).Number(hash.high);
  }
  for (const FileMapping* shard : shards_) {
    struct stat about = {};
    PCHECK(fstat(shard->fd(), &about) == 0);
    writer.Number(uint64_t{about.st_dev}).Number(uint64_t{about.st_ino});
    for (const int64_t number :
         {int64_t{about.st_size}, int64_t{about.st_mtim.tv_sec}, int64_t{about.st_mtim.tv_nsec},
          int64_t{about.st_ctim.tv_sec}, int64_t{about.st_ctim.tv_nsec}}) {
      writer.Number(number);
    }
  }
  if (manifest_.layout.has_value()) {
    for (const int64_t offset : manifest_.layout->offsets) writer.Number(offset);
  }
  return ChecksumOf(writer.bytes());
}

void PackBuilder::Resume() {
  MutexLock lock(&mutex_);
  checkpoint_.job = Job();
  checkpoint_.resume = options_.resume;
  checkpoint_.units.assign(units_.size(), {});
  absl::StatusOr<PackCheckpoint> earlier = PackCheckpoint::Load(folder_.checkpoint());
  if (!earlier.ok() || earlier->job != checkpoint_.job || earlier->units.size() != units_.size()) {
    return;
  }
  for (size_t i = 0; i < units_.size(); ++i) {
    std::vector<Checksum>& hashes = earlier->units[i];
    if (hashes.size() != NumHashes(manifest_, units_[i])) continue;
    SetHashes(units_[i], hashes, manifest_);
    num_bytes_done_ += units_[i].bytes;
    checkpoint_.units[i] = std::move(hashes);
  }
  if (!manifest_.layout.has_value() || HasItsExperts() ||
      HasSize(folder_.partial_experts(), manifest_.layout->bytes)) {
    return;
  }
  LOG(WARNING) << folder_.partial_experts() << " is gone: starting anew";
  checkpoint_.units.assign(units_.size(), {});
  num_bytes_done_ = 0;
}

absl::Status PackBuilder::Build() {
  const absl::Status hashed = HashUnits();
  if (!hashed.ok()) {
    MutexLock lock(&mutex_);
    const absl::Status saved = SaveCheckpoint();
    if (!saved.ok()) LOG(WARNING) << "what is done so far is lost: " << saved.message();
    return hashed;
  }
  const std::vector<Checksum> shard_hashes = manifest_.ShardHashes();
  for (size_t i = 0; i < shard_hashes.size(); ++i) manifest_.shards[i].hash = shard_hashes[i];
  if (experts_ != nullptr) {
    RETURN_IF_ERROR(experts_->Write(0, manifest_.layout->Header(manifest_.BlobHashes())));
  }
  {
    MutexLock lock(&mutex_);
    RETURN_IF_ERROR(SaveCheckpoint());
  }
  RETURN_IF_ERROR(ReplaceOldPack());
  RETURN_IF_ERROR(SaveManifest(manifest_, folder_.manifest()));
  RETURN_IF_ERROR(RemoveFile(folder_.checkpoint()));
  return folder_.Sync();
}

absl::Status PackBuilder::HashUnits() {
  std::vector<size_t> to_do;
  {
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < units_.size(); ++i) {
      if (checkpoint_.units[i].empty()) to_do.push_back(i);
    }
    saved_ = std::chrono::steady_clock::now();
  }
  UnitHasher::Sink sink;
  if (experts_ != nullptr) {
    sink = [this](int number, int64_t offset, absl::Span<const std::byte> bytes) {
      return experts_->Write(manifest_.layout->offsets[static_cast<size_t>(number)] + offset,
                             bytes);
    };
  }
  std::vector<UnitHasher> hashers;
  for (int i = 0; i < options_.num_threads; ++i) {
    hashers.emplace_back(manifest_, shards_, sink, options_.progress);
  }
  SharedWork threads(options_.num_threads);
  RETURN_IF_ERROR(threads.Run(std::ssize(to_do), [&](int worker, int64_t item) {
    const size_t unit = to_do[static_cast<size_t>(item)];
    ASSIGN_OR_RETURN(const std::vector<Checksum> hashes,
                     hashers[static_cast<size_t>(worker)].Hash(units_[unit]));
    return FinishUnit(unit, hashes);
  }));
  return file_.CheckUnchanged();
}

absl::Status PackBuilder::FinishUnit(size_t unit, const std::vector<Checksum>& hashes) {
  MutexLock lock(&mutex_);
  // Others read what the manifest says of lengths and offsets meanwhile, and no hashes.
  SetHashes(units_[unit], hashes, manifest_);
  checkpoint_.units[unit] = hashes;
  if (std::chrono::steady_clock::now() - saved_ < options_.checkpoint_period) {
    return absl::OkStatus();
  }
  // Bytes that were read from a file that changed meanwhile are not to be gone on with.
  RETURN_IF_ERROR(file_.CheckUnchanged());
  const absl::Status status = SaveCheckpoint();
  saved_ = std::chrono::steady_clock::now();
  return status;
}

absl::Status PackBuilder::SaveCheckpoint() {
  if (experts_ != nullptr) RETURN_IF_ERROR(experts_->Sync());
  return checkpoint_.Save(folder_.checkpoint());
}

bool PackBuilder::HasItsExperts() const {
  if (!manifest_.layout.has_value() || num_bytes_done_ != num_bytes_) return false;
  const absl::StatusOr<std::unique_ptr<FileMapping>> file = FileMapping::Open(folder_.experts());
  if (!file.ok() || (*file)->size() != manifest_.layout->bytes) return false;
  std::vector<std::byte> header(static_cast<size_t>(PackLayout::kHeaderBytes));
  return ReadAt(**file, 0, absl::MakeSpan(header), "the header").ok() &&
         manifest_.layout->CheckHeader(header, manifest_.BlobHashes()).ok();
}

// Without a manifest the folder holds no pack, so that nobody takes old hashes for those of new
// experts.
absl::Status PackBuilder::ReplaceOldPack() {
  const bool has_experts = experts_ != nullptr;
  const bool leaves_experts =
      !manifest_.layout.has_value() && FileMapping::Open(folder_.experts()).ok();
  if (!has_experts && !leaves_experts) return absl::OkStatus();
  RETURN_IF_ERROR(RemoveFile(folder_.manifest()));
  RETURN_IF_ERROR(folder_.Sync());
  if (leaves_experts) return RemoveFile(folder_.experts());
  if (rename(folder_.partial_experts().c_str(), folder_.experts().c_str()) != 0) {
    return WriteError(folder_.experts(), "cannot give it its name", errno);
  }
  return folder_.Sync();
}

}  // namespace strata
