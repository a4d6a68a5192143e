#include "strata/core/gguf/gguf_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_shard.h"
#include "strata/core/gguf/gguf_split.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Is there a file of that name, whatever it holds? A link to nothing is none.
bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// A shard beside the one that was named, which is `named_path`.
absl::StatusOr<std::unique_ptr<GgufShard>> OpenSibling(const SplitName& name,
                                                       const std::string& named_path) {
  const std::string path = ShardPath(name, name.number);
  if (Exists(path)) return GgufShard::Open(path);
  if (name.number == 1) {
    return InputError("split_not_first", named_path,
                      absl::StrCat("the first shard, ", path, ", is not there"));
  }
  return InputError("split_missing", path,
                    absl::StrCat("shard ", name.number, " of ", name.count, " is not there"));
}

// The files that `path` names: itself, if there is a file of that name or it has no comma.
std::vector<std::string> NamesIn(const std::string& path) {
  if (Exists(path)) return {path};
  return absl::StrSplit(path, ',');
}

}  // namespace

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::Open(const std::string& path) {
  std::unique_ptr<GgufFile> file(new GgufFile(path));
  const std::vector<std::string> names = NamesIn(path);
  for (const std::string& name : names) RETURN_IF_ERROR(file->OpenShards(name));
  if (names.size() > 1) file->is_split_ = true;
  RETURN_IF_ERROR(file->IndexTensors());
  RETURN_IF_ERROR(file->CheckTensorTotals());
  for (const absl::string_view key : file->KeysBeyondAscii()) {
    LOG(WARNING) << path << ": key '" << Printable(key, 80) << "' is not ASCII";
  }
  return file;
}

std::vector<absl::string_view> GgufFile::KeysBeyondAscii() const {
  std::vector<absl::string_view> keys;
  for (const std::unique_ptr<GgufShard>& shard : shards_) {
    for (const GgufKey& key : shard->keys()) {
      const bool is_ascii = std::all_of(key.key.begin(), key.key.end(), absl::ascii_isascii);
      if (!is_ascii) keys.push_back(key.key);
    }
  }
  return keys;
}

absl::Status GgufFile::OpenShards(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<GgufShard> named, GgufShard::Open(path));
  const bool is_split = IsSplit(named->header());
  is_split_ = is_split_ || is_split;
  const absl::StatusOr<SplitName> named_as = IdentifyShard(named->header(), path);
  if (!named_as.ok()) return WithFile(named_as.status(), path);
  const size_t first = shards_.size();
  SplitName name = *named_as;
  for (name.number = 1; name.number <= name.count; ++name.number) {
    if (name.number == named_as->number) {
      shards_.push_back(std::move(named));
    } else {
      ASSIGN_OR_RETURN(std::unique_ptr<GgufShard> sibling, OpenSibling(name, path));
      shards_.push_back(std::move(sibling));
    }
    if (!is_split) continue;
    const absl::Status status =
        CheckShard(shards_.back()->header(), name, shards_[first]->header());
    if (!status.ok()) return WithFile(status, shards_.back()->path());
  }
  if (is_split) splits_.push_back({first, shards_.size()});
  return absl::OkStatus();
}

absl::Status GgufFile::IndexTensors() {
  std::vector<size_t> first_of_shard;
  for (const std::unique_ptr<GgufShard>& shard : shards_) {
    std::vector<GgufTensor> tensors = shard->header_->TakeTensors();
    for (GgufTensor& tensor : tensors) tensor.shard = static_cast<int>(first_of_shard.size());
    first_of_shard.push_back(tensors_.size());
    if (tensors_.empty()) {
      tensors_ = std::move(tensors);
    } else {
      tensors_.insert(tensors_.end(), tensors.begin(), tensors.end());
    }
  }
  first_of_shard.push_back(tensors_.size());
  for (size_t i = 0; i < shards_.size(); ++i) {
    shards_[i]->tensors_ =
        tensors().subspan(first_of_shard[i], first_of_shard[i + 1] - first_of_shard[i]);
  }
  tensors_by_name_.Reserve(tensors_.size());
  for (const GgufTensor& tensor : tensors_) {
    if (tensors_by_name_.Insert(tensor)) continue;
    const GgufTensor& other = *FindTensor(tensor.name);
    return InputError("duplicate_tensor", shards_[static_cast<size_t>(tensor.shard)]->path(),
                      absl::StrCat("tensor '", Printable(tensor.name, 80), "' is there twice, in ",
                                   "shards ", other.shard + 1, " and ", tensor.shard + 1));
  }
  return absl::OkStatus();
}

absl::Status GgufFile::CheckTensorTotals() const {
  for (const auto& [first, end] : splits_) {
    int64_t num_tensors = 0;
    for (size_t i = first; i < end; ++i) num_tensors += std::ssize(shards_[i]->tensors());
    for (size_t i = first; i < end; ++i) {
      const absl::Status status = CheckTensorTotal(shards_[i]->header(), num_tensors);
      if (!status.ok()) return WithFile(status, shards_[i]->path());
    }
  }
  return absl::OkStatus();
}

absl::Span<const std::byte> GgufFile::Data(const GgufTensor& tensor) const {
  CHECK(tensor.shard >= 0 && static_cast<size_t>(tensor.shard) < shards_.size());
  return shards_[static_cast<size_t>(tensor.shard)]->mapping().bytes().subspan(
      static_cast<size_t>(tensor.file_offset), static_cast<size_t>(tensor.bytes));
}

absl::Status GgufFile::CheckUnchanged() const {
  for (const std::unique_ptr<GgufShard>& shard : shards_) {
    RETURN_IF_ERROR(shard->mapping().CheckUnchanged());
  }
  return absl::OkStatus();
}

}  // namespace strata
