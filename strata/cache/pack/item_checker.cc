#include "strata/cache/pack/item_checker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/checksum.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/read_at.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

using Kind = PackItem::Kind;

// Of each of two files that are read side by side.
constexpr int64_t kPieceBytes = static_cast<int64_t>(ItemChecker::kBufferBytes) / 2;

constexpr char kWhat[] = "it";

}  // namespace

ItemChecker::ItemChecker(const PackManifest& manifest, Files files)
    : manifest_(manifest),
      files_(std::move(files)),
      header_(manifest.layout.has_value() ? manifest.layout->Header(manifest.BlobHashes())
                                          : std::vector<std::byte>()),
      zeros_(static_cast<size_t>(PackLayout::kAlignment)) {}

const FileMapping* ItemChecker::FileOf(const PackItem& item) const {
  return item.run.shard == PackItem::kExpertsFile
             ? files_.experts
             : files_.shards[static_cast<size_t>(item.run.shard)];
}

std::optional<PackFinding> ItemChecker::Check(const PackItem& item,
                                              absl::Span<std::byte> buffer) const {
  CHECK_GE(buffer.size(), kBufferBytes);
  if (item.kind == Kind::kHeader) return CheckBytes(item, header_, buffer);
  if (item.kind == Kind::kPadding) {
    // Less than the alignment.
    return CheckBytes(item, absl::MakeConstSpan(zeros_).first(static_cast<size_t>(item.run.bytes)),
                      buffer);
  }
  PackFinding finding = {.item = item,
                         .file = FileOf(item)->path(),
                         .offset = item.run.offset,
                         .bytes = item.run.bytes};
  const absl::StatusOr<Checksum> found = HashOf(item, buffer);
  if (!found.ok()) {
    finding.problem = std::string(found.status().message());
    return finding;
  }
  if (*found == item.run.hash) return std::nullopt;
  if (const std::optional<int64_t> first = FirstWrongByte(item, buffer); first.has_value()) {
    finding.offset += *first;
    finding.bytes -= *first;
  }
  finding.problem =
      absl::StrCat("its checksum is ", found->ToHex(), " instead of ", item.run.hash.ToHex());
  return finding;
}

std::optional<PackFinding> ItemChecker::CheckBytes(const PackItem& item,
                                                   absl::Span<const std::byte> expected,
                                                   absl::Span<std::byte> buffer) const {
  PackFinding finding = {.item = item,
                         .file = FileOf(item)->path(),
                         .offset = item.run.offset,
                         .bytes = item.run.bytes};
  const absl::Span<std::byte> found = buffer.first(expected.size());
  if (const absl::Status read = ReadAt(*FileOf(item), item.run.offset, found, kWhat); !read.ok()) {
    finding.problem = std::string(read.message());
    return finding;
  }
  const auto wrong = std::mismatch(found.begin(), found.end(), expected.begin());
  if (wrong.first == found.end()) return std::nullopt;
  finding.offset += wrong.first - found.begin();
  finding.bytes -= wrong.first - found.begin();
  finding.problem = absl::StrCat("a byte is ", static_cast<int>(*wrong.first), " instead of ",
                                 static_cast<int>(*wrong.second));
  return finding;
}

absl::StatusOr<Checksum> ItemChecker::HashOf(const PackItem& item,
                                             absl::Span<std::byte> buffer) const {
  ChecksumBuilder builder;
  for (int64_t done = 0; done < item.run.bytes;) {
    const int64_t bytes = std::min(kPieceBytes, item.run.bytes - done);
    const absl::Span<std::byte> piece = buffer.first(static_cast<size_t>(bytes));
    RETURN_IF_ERROR(ReadAt(*FileOf(item), item.run.offset + done, piece, kWhat));
    builder.Add(piece);
    done += bytes;
  }
  return builder.Finish();
}

std::optional<PackItem> ItemChecker::TwinOf(const PackItem& item) const {
  PackItem twin = item;
  if (item.kind == Kind::kSlice && files_.experts != nullptr && manifest_.layout.has_value()) {
    const size_t number =
        item.layer * static_cast<size_t>(manifest_.num_experts) + static_cast<size_t>(item.expert);
    twin.kind = Kind::kBlobPart;
    twin.run.shard = PackItem::kExpertsFile;
    twin.run.offset = manifest_.layout->offsets[number] +
                      manifest_.layers[item.layer].layout().offset(static_cast<int>(item.part));
    return twin;
  }
  if (item.kind != Kind::kBlobPart) return std::nullopt;
  twin.kind = Kind::kSlice;
  twin.run = manifest_.SliceOf(item.layer, item.part, item.expert);
  if (files_.shards[static_cast<size_t>(twin.run.shard)] == nullptr) return std::nullopt;
  return twin;
}

std::optional<int64_t> ItemChecker::FirstWrongByte(const PackItem& item,
                                                   absl::Span<std::byte> buffer) const {
  const std::optional<PackItem> twin = TwinOf(item);
  if (!twin.has_value()) return std::nullopt;
  std::optional<int64_t> first;
  ChecksumBuilder of_twin;
  for (int64_t done = 0; done < item.run.bytes;) {
    const auto bytes = static_cast<size_t>(std::min(kPieceBytes, item.run.bytes - done));
    const absl::Span<std::byte> a = buffer.first(bytes), b = buffer.subspan(bytes, bytes);
    if (!ReadAt(*FileOf(item), item.run.offset + done, a, kWhat).ok() ||
        !ReadAt(*FileOf(*twin), twin->run.offset + done, b, kWhat).ok()) {
      return std::nullopt;
    }
    of_twin.Add(b);
    const auto unequal = std::mismatch(a.begin(), a.end(), b.begin());
    if (!first.has_value() && unequal.first != a.end()) first = done + (unequal.first - a.begin());
    done += static_cast<int64_t>(bytes);
  }
  return of_twin.Finish() == item.run.hash ? first : std::nullopt;
}

}  // namespace strata
