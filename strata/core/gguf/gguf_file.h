// A GGUF model on disk: one file, or all shards of a split model, opened by the name of any of
// them; and further files or splits with more tensors of it, such as a large table, which are named
// behind it with commas: MODEL.gguf,TABLE.gguf. Their keys say nothing of the model.
//
// Open validates everything before it returns: header and records within the file, names and dims
// sane, every tensor's bytes inside its shard's data and overlapping no other, split keys agreeing
// with names, counts and totals. Header bytes are copied, so what was validated cannot change;
// tensor data is mapped and never copied. Errors are InputErrors (strata/core/error.h) that name
// the shard; docs/design/gguf.md lists their kinds.
//
// Thread-safe after Open. Sizes and offsets are in bytes.
#ifndef STRATA_CORE_GGUF_GGUF_FILE_H_
#define STRATA_CORE_GGUF_GGUF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_shard.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/name_index.h"

namespace strata {

class GgufFile {
 public:
  // Warns of keys that are not ASCII.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Open(const std::string& path);

  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  // In the order of split.no; one for a model that is not split. Further files follow.
  absl::Span<const std::unique_ptr<GgufShard>> shards() const { return shards_; }
  // True when the file says that it is split, be it in one shard, or when there are further files.
  bool is_split() const { return is_split_; }
  // The name that was given.
  const std::string& path() const { return path_; }
  // Of all shards, shard by shard.
  absl::Span<const GgufTensor> tensors() const { return tensors_; }
  // Null when there is none.
  const GgufTensor* FindTensor(absl::string_view name) const { return tensors_by_name_.Find(name); }
  // The mapped bytes of a tensor of this file.
  absl::Span<const std::byte> Data(const GgufTensor& tensor) const;
  // A key of the first shard; null when there is none.
  const GgufValue* FindKey(absl::string_view key) const { return shards_[0]->Find(key); }
  // Of all shards: the format wants ASCII.
  std::vector<absl::string_view> KeysBeyondAscii() const;
  // Of every shard's mapping: see FileMapping.
  absl::Status CheckUnchanged() const;

 private:
  explicit GgufFile(const std::string& path) : path_(path) {}
  // Adds the shards of one file or split.
  absl::Status OpenShards(const std::string& path);
  absl::Status IndexTensors();
  absl::Status CheckTensorTotals() const;

  const std::string path_;
  bool is_split_ = false;
  std::vector<std::unique_ptr<GgufShard>> shards_;
  std::vector<std::pair<size_t, size_t>> splits_;  // Of shards, the first and the one behind.
  std::vector<GgufTensor> tensors_;
  NameIndex<GgufTensor, &GgufTensor::name> tensors_by_name_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_FILE_H_
