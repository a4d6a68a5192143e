#include "strata/generate/loading/warm_up.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "strata/core/cli/progress.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_shard.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {
namespace {

using Bytes = absl::Span<const std::byte>;

constexpr size_t kPageBytes = 4096;
constexpr size_t kPieceBytes = 4 << 20;

// What the system could give to a reader of files, in bytes; 0 when it does not say.
int64_t AvailableBytes() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  int64_t kib = 0;
  while (info >> name >> kib) {
    std::getline(info, unit);
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

// A shard without its tables.
std::vector<Bytes> PartsOf(const GgufShard& shard) {
  std::vector<const GgufTensor*> tables;
  for (const GgufTensor& tensor : shard.tensors()) {
    if (ClassifyTensor(tensor.name).kind == TensorKind::kTable) tables.push_back(&tensor);
  }
  std::sort(tables.begin(), tables.end(), [](const GgufTensor* a, const GgufTensor* b) {
    return a->file_offset < b->file_offset;
  });
  const Bytes all = shard.mapping().bytes();
  std::vector<Bytes> parts;
  size_t begin = 0;
  for (const GgufTensor* const table : tables) {
    parts.push_back(all.subspan(begin, static_cast<size_t>(table->file_offset) - begin));
    begin = static_cast<size_t>(table->file_offset + table->bytes);
  }
  parts.push_back(all.subspan(begin));
  return parts;
}

void Touch(Bytes bytes) {
  volatile const std::byte* const data = bytes.data();
  for (size_t i = 0; i < bytes.size(); i += kPageBytes) static_cast<void>(data[i]);
}

void Read(absl::Span<const Bytes> parts) {
  int64_t total = 0;
  for (const Bytes& part : parts) total += static_cast<int64_t>(part.size());
  if (total > AvailableBytes()) return;
  Progress progress({.label = "loading", .total = total, .unit = Progress::Unit::kBytes});
  for (Bytes left : parts) {
    while (!left.empty()) {
      const Bytes piece = left.subspan(0, kPieceBytes);
      Touch(piece);
      progress.Add(static_cast<int64_t>(piece.size()));
      left.remove_prefix(piece.size());
    }
  }
}

}  // namespace

void WarmUp(const GgufFile& file) {
  std::vector<Bytes> parts;
  for (const std::unique_ptr<GgufShard>& shard : file.shards()) {
    const std::vector<Bytes> of_shard = PartsOf(*shard);
    parts.insert(parts.end(), of_shard.begin(), of_shard.end());
  }
  Read(parts);
}

void WarmUpPack(const GgufFile& file, const FileMapping& experts) {
  std::vector<Bytes> parts;
  for (const GgufTensor& tensor : file.tensors()) {
    const TensorKind kind = ClassifyTensor(tensor.name).kind;
    if (kind == TensorKind::kExpert || kind == TensorKind::kTable) continue;
    parts.push_back(file.Data(tensor));
  }
  parts.push_back(experts.bytes());
  Read(parts);
}

}  // namespace strata
