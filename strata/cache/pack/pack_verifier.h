// Compares a pack with its files, all of it or a sample, and goes on to the end whatever it finds.
#ifndef STRATA_CACHE_PACK_PACK_VERIFIER_H_
#define STRATA_CACHE_PACK_PACK_VERIFIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/pack/item_checker.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/file_mapping.h"

namespace strata {

struct PackReport {
  int64_t num_checked = 0;  // Items.
  int64_t num_items = 0;
  int64_t bytes_checked = 0;
  int64_t num_bytes = 0;
  // Of files as a whole: one that is missing, or of another length. "PATH: what".
  std::vector<std::string> file_problems;
  std::vector<PackFinding> findings;  // By shard and offset; experts.bin first.
  bool ok() const { return file_problems.empty() && findings.empty(); }
};

class PackVerifier {
 public:
  struct Options {
    std::string folder;
    // Of the first shard, or of the model if it is in one file: see ShardPath.
    std::string model;
    bool quick = false;
    int num_threads = 1;
    std::function<void(int64_t bytes)> progress = {};  // Called by any thread.
  };

  // The manifest outlives it. Files that cannot be opened are findings.
  PackVerifier(const PackManifest& manifest, const Options& options);

  // Bytes that Verify will read.
  int64_t num_bytes() const { return num_bytes_; }
  // Once. An error is the machine's.
  absl::StatusOr<PackReport> Verify();

 private:
  void OpenFiles();
  void Open(const std::string& path, int64_t bytes, const FileMapping*& file);
  // Whether a file says since its opening that it was changed.
  void CheckUnchanged();

  const PackManifest& manifest_;
  const Options options_;
  std::vector<std::unique_ptr<FileMapping>> open_;
  ItemChecker::Files files_;
  std::vector<PackItem> items_;  // To check.
  int64_t num_bytes_ = 0;
  PackReport report_;
  absl::Status machine_;  // Why a file could not be opened that may well be right.
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_VERIFIER_H_
