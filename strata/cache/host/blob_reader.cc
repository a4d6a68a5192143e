#include "strata/cache/host/blob_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/read_at.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// mincore says of a file that we may not write that all of it is in memory.
bool TellsResidency(const FileMapping& file) {
  struct stat about = {};
  if (fstat(file.fd(), &about) == 0 && about.st_uid == geteuid()) return true;
  return access(absl::StrCat("/proc/self/fd/", file.fd()).c_str(), W_OK) == 0;
}

bool IsResident(absl::Span<const std::byte> mapped) {
  constexpr int64_t kPagesAtOnce = 1024;
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  const uintptr_t end = reinterpret_cast<uintptr_t>(mapped.data() + mapped.size());
  uintptr_t start = reinterpret_cast<uintptr_t>(mapped.data()) / page_bytes * page_bytes;
  while (start < end) {
    unsigned char pages[kPagesAtOnce];
    const uintptr_t bytes = std::min<uintptr_t>(end - start, kPagesAtOnce * page_bytes);
    if (mincore(reinterpret_cast<void*>(start), bytes, pages) != 0) return false;
    const int64_t num_pages = (bytes + page_bytes - 1) / page_bytes;
    if (!std::all_of(pages, pages + num_pages, [](unsigned char page) { return page & 1; })) {
      return false;
    }
    start += bytes;
  }
  return true;
}

}  // namespace

BlobReader::BlobReader(const ExpertFiles& files, Path path) : files_(files), path_(path) {
  for (const FileMapping* shard : files.shards())
    tells_residency_.push_back(TellsResidency(*shard));
}

absl::Status BlobReader::Read(ExpertId id, absl::Span<std::byte> blob) {
  const ExpertSlices& slices = files_.Slices(id);
  const BlobLayout layout = slices.layout();
  CHECK_GE(static_cast<int64_t>(blob.size()), layout.bytes());
  if (files_.LieAsBlob(slices)) {
    ExpertSlice whole = slices[0];
    whole.bytes = layout.bytes();
    return ReadSlice(id, whole, blob.first(static_cast<size_t>(whole.bytes)));
  }
  for (int i = 0; i < layout.num_parts(); ++i) {
    RETURN_IF_ERROR(ReadSlice(id, slices[i], blob.subspan(layout.offset(i), slices[i].bytes)));
  }
  return absl::OkStatus();
}

absl::Status BlobReader::ReadSlice(ExpertId id, const ExpertSlice& slice,
                                   absl::Span<std::byte> part) {
  if (CopiesFromMapping(slice)) {
    std::memcpy(part.data(), files_.Mapped(slice).data(), part.size());
    mapping_bytes_ += slice.bytes;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      ReadAt(files_.ShardOf(slice), slice.file_offset, part, files_.Describe(id, slice)));
  read_bytes_ += slice.bytes;
  return absl::OkStatus();
}

bool BlobReader::CopiesFromMapping(const ExpertSlice& slice) const {
  switch (path_) {
    case Path::kMapping:
      return true;
    case Path::kRead:
      return false;
    case Path::kByResidency:
      break;
  }
  return tells_residency_[slice.shard] && IsResident(files_.Mapped(slice));
}

void BlobReader::Prefetch(absl::Span<const ExpertId> ids) const {
  for (const ExpertId id : ids) {
    for (const ExpertSlice& slice : files_.Slices(id)) {
      posix_fadvise(files_.ShardOf(slice).fd(), slice.file_offset, slice.bytes,
                    POSIX_FADV_WILLNEED);
    }
  }
}

}  // namespace strata
