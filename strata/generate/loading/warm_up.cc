#include "strata/generate/loading/warm_up.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "strata/core/cli/progress.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {
namespace {

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

void Touch(absl::Span<const std::byte> bytes) {
  volatile const std::byte* const data = bytes.data();
  for (size_t i = 0; i < bytes.size(); i += kPageBytes) static_cast<void>(data[i]);
}

}  // namespace

void WarmUp(const GgufFile& file) {
  int64_t total = 0;
  for (const std::unique_ptr<GgufShard>& shard : file.shards()) total += shard->mapping().size();
  if (total > AvailableBytes()) return;
  Progress progress({.label = "loading", .total = total, .unit = Progress::Unit::kBytes});
  for (const std::unique_ptr<GgufShard>& shard : file.shards()) {
    absl::Span<const std::byte> left = shard->mapping().bytes();
    while (!left.empty()) {
      const absl::Span<const std::byte> piece = left.subspan(0, kPieceBytes);
      Touch(piece);
      progress.Add(static_cast<int64_t>(piece.size()));
      left.remove_prefix(piece.size());
    }
  }
}

}  // namespace strata
