// Reads blobs from their files into memory.
//
// What lies in the page cache is copied from the mapping. What does not is read with one large
// request for a slice, or for a blob whose slices lie as in memory, so that several threads give the
// disk a deep queue; a page fault would ask for it piece by piece. Counters say which way the bytes
// came.
//
// Thread-safe: any number of threads read at once. The files outlive it.
#ifndef STRATA_CACHE_HOST_BLOB_READER_H_
#define STRATA_CACHE_HOST_BLOB_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class BlobReader {
 public:
  enum class Path {
    kByResidency,  // As above.
    kMapping,      // Always from the mapping.
    kRead,         // Always by read requests.
  };
  struct Counters {
    int64_t mapping_bytes = 0;
    int64_t read_bytes = 0;
  };

  explicit BlobReader(const ExpertFiles& files, Path path = Path::kByResidency);

  const ExpertFiles& files() const { return files_; }

  // The whole blob, which has room for its BlobBytes. An error names expert, role and shard; kind
  // "io", or "changed" when the file has become shorter.
  absl::Status Read(ExpertId id, absl::Span<std::byte> blob);

  // Starts reading from disk what is not in memory; does not wait for it.
  void Prefetch(absl::Span<const ExpertId> ids) const;

  Counters counters() const {
    return {.mapping_bytes = mapping_bytes_.load(), .read_bytes = read_bytes_.load()};
  }

 private:
  absl::Status ReadSlice(ExpertId id, const ExpertSlice& slice, absl::Span<std::byte> part);
  bool CopiesFromMapping(const ExpertSlice& slice) const;

  const ExpertFiles& files_;
  const Path path_;
  // Per shard: the kernel tells which pages are in memory only to those who may write the file.
  std::vector<bool> tells_residency_;
  std::atomic<int64_t> mapping_bytes_ = 0;
  std::atomic<int64_t> read_bytes_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_HOST_BLOB_READER_H_
