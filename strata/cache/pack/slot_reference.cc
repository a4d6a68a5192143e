#include "strata/cache/pack/slot_reference.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/checksum.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/read_at.h"
#include "strata/core/status_macros.h"

namespace strata {

using Difference = SlotReference::Difference;

absl::StatusOr<std::optional<Difference>> SlotReference::Compare(
    ExpertId id, size_t part, absl::Span<const std::byte> found) const {
  if (pack_ == nullptr) return CompareWithFile(id, part, found);
  const PackManifest::Layer& layer =
      pack_->layers[static_cast<size_t>(geometry_.FindLayer(id.layer))];
  const Checksum& expected = layer.parts[part].slices[static_cast<size_t>(id.index)];
  const Checksum checksum = ChecksumOf(found);
  if (checksum == expected) return std::optional<Difference>();
  Difference difference = {.problem = absl::StrCat("its checksum is ", checksum.ToHex(),
                                                   " instead of ", expected.ToHex())};
  // The file says which byte it is, where it can.
  const absl::StatusOr<std::optional<Difference>> of_file = CompareWithFile(id, part, found);
  if (of_file.ok() && of_file->has_value()) difference.offset = (*of_file)->offset;
  return std::optional<Difference>(difference);
}

absl::StatusOr<std::optional<Difference>> SlotReference::CompareWithFile(
    ExpertId id, size_t part, absl::Span<const std::byte> found) const {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  const ExpertSlice& slice = model_.Slices(id)[part];
  std::vector<std::byte> piece(std::min(kPieceBytes, found.size()));
  for (size_t done = 0; done < found.size();) {
    const absl::Span<std::byte> expected =
        absl::MakeSpan(piece).first(std::min(piece.size(), found.size() - done));
    RETURN_IF_ERROR(ReadAt(model_.ShardOf(slice), slice.file_offset + static_cast<int64_t>(done),
                           expected, model_.Describe(id, slice)));
    const auto wrong = std::mismatch(expected.begin(), expected.end(), found.begin() + done);
    if (wrong.first != expected.end()) {
      return std::optional<Difference>(
          Difference{.offset = static_cast<int64_t>(done) + (wrong.first - expected.begin()),
                     .problem = absl::StrCat("a byte is ", static_cast<int>(*wrong.second),
                                             " instead of ", static_cast<int>(*wrong.first))});
    }
    done += expected.size();
  }
  return std::optional<Difference>();
}

}  // namespace strata
