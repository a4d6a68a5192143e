// Builds a pack of an open model in a folder: reads every byte once, hashes it and, when a layout
// is asked for, writes the experts as blobs.
//
// What is done is noted in the folder now and then, behind a sync of the experts: a build that is
// killed and started again with the same arguments goes on there. A pack that was in the folder
// stays whole until the new one is written; only between the removal of its manifest and the next
// is there none, and then the folder says how to go on. Memory does not grow with the model's
// weights.
#ifndef STRATA_CACHE_PACK_PACK_BUILDER_H_
#define STRATA_CACHE_PACK_PACK_BUILDER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/experts_writer.h"
#include "strata/cache/pack/pack_checkpoint.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/unit_hasher.h"
#include "strata/core/checksum.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/mutex.h"

namespace strata {

class PackBuilder {
 public:
  struct Options {
    std::string folder;
    bool writes_experts = false;
    std::string order = "layer";        // What the layout's order is called,
    std::vector<int> order_of_experts;  // and the numbers of all experts in it.
    std::string tool;                   // For the manifest.
    std::string resume;                 // The command that goes on with this build.
    int num_threads = 1;
    std::chrono::seconds checkpoint_period{5};  // 0: after every unit.
    // Hears of bytes read, by any thread.
    std::function<void(int64_t bytes)> progress = {};
  };

  // Takes the folder: locks it, removes what killed builds left, and finds out what is done. The
  // file outlives it. Errors: io; the machine's when its disk has too little room.
  static absl::StatusOr<std::unique_ptr<PackBuilder>> Create(const GgufFile& file,
                                                             const ExpertLayout& layout,
                                                             const ModelIdentity& identity,
                                                             Options options);

  // Bytes of the model, and those of them that an earlier build has read.
  int64_t num_bytes() const { return num_bytes_; }
  int64_t num_bytes_done() const { return num_bytes_done_; }

  // Once. On an error what is done so far stays in the folder. Errors: of the
  // model's files, of writing, and the machine's.
  absl::Status Build();
  // After Build.
  const PackManifest& manifest() const { return manifest_; }

 private:
  PackBuilder(const GgufFile& file, const ExpertLayout& layout, const ModelIdentity& identity,
              Options options);
  absl::Status Prepare();
  Checksum Job() const;
  // Takes over what an unfinished build of this job has done.
  void Resume() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status HashUnits();
  absl::Status FinishUnit(size_t unit, const std::vector<Checksum>& hashes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SaveCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether experts.bin is in its place already, written by a build that ended just before the end.
  bool HasItsExperts() const;
  absl::Status ReplaceOldPack();

  const GgufFile& file_;
  const Options options_;
  const PackFolder folder_;
  PackManifest manifest_;
  std::vector<const FileMapping*> shards_;
  std::vector<PackUnit> units_;
  std::optional<FileDescriptor> lock_;
  int64_t num_bytes_ = 0;
  int64_t num_bytes_done_ = 0;
  std::unique_ptr<ExpertsWriter> experts_;

  Mutex mutex_;
  PackCheckpoint checkpoint_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point saved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_BUILDER_H_
