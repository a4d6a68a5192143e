#include "strata/cache/pack/pack_verifier.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/pack/item_checker.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_split.h"
#include "strata/core/mutex.h"
#include "strata/core/shared_work.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Of a model of several shards their names say which is which; what is in them is compared.
std::vector<std::string> ShardPaths(const PackManifest& manifest, const std::string& model) {
  const std::optional<SplitName> name = ParseSplitName(model);
  std::vector<std::string> paths;
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    const bool is_split = manifest.shards.size() > 1 && name.has_value();
    paths.push_back(is_split ? ShardPath(*name, static_cast<int>(i) + 1) : model);
  }
  return paths;
}

}  // namespace

PackVerifier::PackVerifier(const PackManifest& manifest, const Options& options)
    : manifest_(manifest), options_(options) {
  OpenFiles();
  for (std::vector<PackItem> items : {ExpertsItems(manifest), ModelItems(manifest)}) {
    report_.num_items += std::ssize(items);
    for (const PackItem& item : items) report_.num_bytes += item.run.bytes;
    if (options_.quick) items = Sample(manifest, items);
    for (const PackItem& item : items) {
      const FileMapping* const file = item.run.shard == PackItem::kExpertsFile
                                          ? files_.experts
                                          : files_.shards[static_cast<size_t>(item.run.shard)];
      // What cannot be opened was told, once.
      if (file == nullptr) continue;
      items_.push_back(item);
      num_bytes_ += item.run.bytes;
    }
  }
}

void PackVerifier::OpenFiles() {
  const std::vector<std::string> paths = ShardPaths(manifest_, options_.model);
  files_.shards.resize(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    Open(paths[i], manifest_.shards[i].bytes, files_.shards[i]);
  }
  if (manifest_.layout.has_value()) {
    Open(PackFolder(options_.folder).experts(), manifest_.layout->bytes, files_.experts);
  }
}

void PackVerifier::Open(const std::string& path, int64_t bytes, const FileMapping*& file) {
  absl::StatusOr<std::unique_ptr<FileMapping>> opened = FileMapping::Open(path);
  if (!opened.ok() && ErrorKind(opened.status()).empty()) {
    machine_.Update(opened.status());
    return;
  }
  if (!opened.ok()) {
    report_.file_problems.push_back(absl::StrCat(path, ": ", opened.status().message()));
    return;
  }
  if ((*opened)->size() != bytes) {
    report_.file_problems.push_back(
        absl::StrCat(path, ": it has ", (*opened)->size(), " bytes; the manifest says ", bytes));
  }
  file = opened->get();
  open_.push_back(*std::move(opened));
}

absl::StatusOr<PackReport> PackVerifier::Verify() {
  RETURN_IF_ERROR(machine_);
  const ItemChecker checker(manifest_, files_);
  std::vector<std::vector<std::byte>> buffers(static_cast<size_t>(options_.num_threads),
                                              std::vector<std::byte>(ItemChecker::kBufferBytes));
  Mutex mutex;
  SharedWork threads(options_.num_threads);
  RETURN_IF_ERROR(threads.Run(std::ssize(items_), [&](int worker, int64_t i) {
    const PackItem& item = items_[static_cast<size_t>(i)];
    std::optional<PackFinding> finding =
        checker.Check(item, absl::MakeSpan(buffers[static_cast<size_t>(worker)]));
    if (options_.progress) options_.progress(item.run.bytes);
    MutexLock lock(&mutex);
    ++report_.num_checked;
    report_.bytes_checked += item.run.bytes;
    if (finding.has_value()) report_.findings.push_back(*std::move(finding));
    return absl::OkStatus();
  }));
  CheckUnchanged();
  std::sort(report_.findings.begin(), report_.findings.end(),
            [](const PackFinding& a, const PackFinding& b) {
              return std::tuple(a.item.run.shard, a.offset) <
                     std::tuple(b.item.run.shard, b.offset);
            });
  return std::move(report_);
}

void PackVerifier::CheckUnchanged() {
  for (const std::unique_ptr<FileMapping>& file : open_) {
    const absl::Status status = file->CheckUnchanged();
    if (status.ok()) continue;
    report_.file_problems.push_back(absl::StrCat(file->path(), ": ", status.message()));
  }
}

}  // namespace strata
