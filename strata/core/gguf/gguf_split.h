// Names and keys of split GGUF models: BASE-00001-of-00005.gguf, where names count from 1 and the
// key split.no from 0.
#ifndef STRATA_CORE_GGUF_GGUF_SPLIT_H_
#define STRATA_CORE_GGUF_GGUF_SPLIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_header.h"

namespace strata {

struct SplitName {
  std::string base;  // With the folder.
  int number = 1;    // From 1.
  int count = 1;
};

// Empty when `path` does not end in -NNNNN-of-NNNNN.gguf with both numbers positive.
std::optional<SplitName> ParseSplitName(absl::string_view path);

// The path of shard `number` (from 1) of the same model.
std::string ShardPath(const SplitName& name, int number);

// True when the file says that it is part of a split, be it of one shard: it has split keys, and
// split.count is not the 0 that joiners of splits leave behind.
bool IsSplit(const GgufHeader& header);

// Which shard of how many the file at `path` is; its keys and its name must agree. A file that is
// no part of a split is number 1 of 1. Kinds split_name, split_count, split_order,
// split_key_missing and split_key_type.
absl::StatusOr<SplitName> IdentifyShard(const GgufHeader& header, const std::string& path);

// Checks that `header` is what shard `name` must be beside the first shard. Kinds as above, and
// split_mixed_models when it says of itself something else than the first does.
absl::Status CheckShard(const GgufHeader& header, const SplitName& name, const GgufHeader& first);

// Checks a shard's count of the whole model's tensors: kind split_tensors.
absl::Status CheckTensorTotal(const GgufHeader& header, int64_t num_tensors);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_SPLIT_H_
