// Experts of random bytes in temporary files, for tests.
#ifndef STRATA_CACHE_TESTING_TEST_EXPERTS_H_
#define STRATA_CACHE_TESTING_TEST_EXPERTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strata/cache/experts/expert_files.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/device.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class TestExperts {
 public:
  struct Options {
    int num_layers = 2;
    int num_experts = 8;
    int num_shards = 2;  // Gate and up lie in the first, down in the last.
    std::array<int64_t, 3> slice_bytes = {5120, 5120, 7680};  // Of layer 0; later ones are larger.
    int64_t misalignment = 0;  // Bytes that every slice is off a multiple of 32.
    uint64_t seed = 1;
  };

  TestExperts() : TestExperts(Options()) {}
  explicit TestExperts(const Options& options);
  ~TestExperts();

  const ExpertFiles& files() const { return *files_; }
  absl::Span<const ExpertId> ids() const { return files_->ids(); }
  const std::string& path(int shard) const { return paths_[shard]; }
  const FileMapping& shard(int i) const { return *mappings_[i]; }

  // The kernel drops the files' pages from memory.
  void MakeCold() const;

  // A slot for every expert, one after the other from `memory` on.
  std::vector<FillItem> SlotsIn(const DeviceMemory& memory) const;
  int64_t SlotBytes() const { return files_->max_blob_bytes() * std::ssize(ids()); }

  // How many experts' slices are not in `blob`'s place; `blobs` is host memory laid out as SlotsIn.
  int NumWrong(const std::byte* blobs) const;
  bool IsBlobOf(ExpertId id, const std::byte* blob) const;

 private:
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<FileMapping>> mappings_;
  std::unique_ptr<ExpertFiles> files_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TESTING_TEST_EXPERTS_H_
