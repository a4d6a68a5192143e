#include "strata/cache/experts/expert_files.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"

namespace strata {

size_t ExpertFiles::Hash::operator()(ExpertId id) const {
  return absl::Hash<std::pair<int, int>>()({id.layer, id.index});
}

ExpertFiles::ExpertFiles(const GgufFile& file, const ExpertLayout& layout) {
  for (const auto& shard : file.shards()) shards_.push_back(&shard->mapping());
  for (const int layer : layout.layers()) {
    for (int index = 0; index < layout.num_experts(); ++index) {
      const ExpertId id = {.layer = layer, .index = index};
      Add(id, layout.Slices(id));
    }
  }
}

ExpertFiles::ExpertFiles(std::vector<const FileMapping*> shards,
                         std::vector<std::pair<ExpertId, ExpertSlices>> experts)
    : shards_(std::move(shards)) {
  for (const auto& [id, slices] : experts) Add(id, slices);
}

void ExpertFiles::Add(ExpertId id, const ExpertSlices& slices) {
  for (const ExpertSlice& slice : slices) {
    CHECK(slice.file_offset >= 0 && slice.bytes > 0 &&
          slice.file_offset <= ShardOf(slice).size() - slice.bytes)
        << Describe(id, slice) << " lies outside of its file";
  }
  CHECK(slices_.emplace(id, slices).second) << Describe(id) << " was added twice";
  ids_.push_back(id);
  max_blob_bytes_ = std::max(max_blob_bytes_, slices.layout().bytes());
}

const ExpertSlices& ExpertFiles::Slices(ExpertId id) const {
  const auto found = slices_.find(id);
  CHECK(found != slices_.end()) << "no " << Describe(id);
  return found->second;
}

bool ExpertFiles::LieAsBlob(const ExpertSlices& slices) const {
  const BlobLayout blob = slices.layout();
  for (int part = 0; part < blob.num_parts(); ++part) {
    if (slices[part].shard != slices[0].shard ||
        slices[part].file_offset != slices[0].file_offset + blob.offset(part)) {
      return false;
    }
  }
  return slices[0].file_offset <= ShardOf(slices[0]).size() - blob.bytes();
}

absl::Span<const std::byte> ExpertFiles::Mapped(const ExpertSlice& slice) const {
  return ShardOf(slice).bytes().subspan(slice.file_offset, slice.bytes);
}

absl::Status ExpertFiles::CheckUnchanged() const {
  for (const FileMapping* shard : shards_) RETURN_IF_ERROR(shard->CheckUnchanged());
  return absl::OkStatus();
}

std::string ExpertFiles::Describe(ExpertId id) {
  return absl::StrCat("layer ", id.layer, ", expert ", id.index);
}

std::string ExpertFiles::Describe(ExpertId id, const ExpertSlice& slice) const {
  return absl::StrCat(Describe(id), ", ", Describe(slice));
}

std::string ExpertFiles::DescribeSlices(ExpertId id) const {
  std::string text = Describe(id);
  for (const ExpertSlice& slice : Slices(id)) absl::StrAppend(&text, ", ", Describe(slice));
  return text;
}

std::string ExpertFiles::Describe(const ExpertSlice& slice) const {
  return absl::StrCat(NameOf(slice.role), " in shard ", slice.shard, " (", ShardOf(slice).path(),
                      ")");
}

}  // namespace strata
