#include "strata/cache/pack/pack_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/little_endian.h"

namespace strata {
namespace {

constexpr absl::string_view kMagic = "STRAEXPS";
constexpr uint32_t kVersion = 1;
constexpr size_t kMarkBytes = kMagic.size() + sizeof kVersion;

// Of all that a reader goes by: where each blob is, and what is in it.
Checksum IdOf(const PackLayout& layout, absl::Span<const Checksum> blobs) {
  LittleEndianWriter writer;
  writer.Number(layout.bytes);
  for (size_t i = 0; i < blobs.size(); ++i) {
    writer.Number(layout.offsets[i]).Number(blobs[i].low).Number(blobs[i].high);
  }
  return ChecksumOf(writer.bytes());
}

}  // namespace

PackLayout PackLayout::Create(absl::Span<const int64_t> blob_bytes, absl::Span<const int> order) {
  CHECK_EQ(blob_bytes.size(), order.size());
  PackLayout layout = {.bytes = kHeaderBytes, .offsets = std::vector<int64_t>(order.size())};
  for (const int number : order) {
    layout.offsets[static_cast<size_t>(number)] = layout.bytes;
    layout.bytes += Padded(blob_bytes[static_cast<size_t>(number)]);
  }
  return layout;
}

std::string PackLayout::WhyNot(absl::Span<const int64_t> blob_bytes) const {
  if (offsets.size() != blob_bytes.size()) {
    return absl::StrCat("experts.bin has ", offsets.size(), " blobs for ", blob_bytes.size(),
                        " experts");
  }
  std::vector<size_t> by_offset(offsets.size());
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::sort(by_offset.begin(), by_offset.end(),
            [this](size_t a, size_t b) { return offsets[a] < offsets[b]; });
  int64_t end = kHeaderBytes;
  for (const size_t number : by_offset) {
    if (offsets[number] != end) {
      return absl::StrCat("in experts.bin a blob begins at ", offsets[number], " instead of ", end);
    }
    end += Padded(blob_bytes[number]);
  }
  if (bytes == end) return "";
  return absl::StrCat("experts.bin has ", bytes, " bytes for blobs that end at ", end);
}

std::vector<std::byte> PackLayout::Header(absl::Span<const Checksum> blobs) const {
  const Checksum id = IdOf(*this, blobs);
  LittleEndianWriter writer;
  writer.Raw(kMagic).Number(kVersion).Number(id.low).Number(id.high);
  std::vector<std::byte> page = writer.bytes();
  page.resize(static_cast<size_t>(kHeaderBytes));
  const Checksum checksum = ChecksumOf(absl::MakeConstSpan(page).first(page.size() - 16));
  LittleEndianWriter last;
  last.Number(checksum.low).Number(checksum.high);
  std::copy(last.bytes().begin(), last.bytes().end(), page.end() - 16);
  return page;
}

absl::Status PackLayout::CheckHeader(absl::Span<const std::byte> header,
                                     absl::Span<const Checksum> blobs) const {
  LittleEndianReader reader(header);
  if (reader.Text(kMagic.size()) != kMagic) {
    return InputError("bad_magic", "", "it does not begin as a file of experts does");
  }
  if (const auto version = reader.Number<uint32_t>(); version != kVersion) {
    return InputError("bad_version", "",
                      absl::StrCat("version ", version, "; known is ", kVersion));
  }
  const std::vector<std::byte> expected = Header(blobs);
  CHECK_EQ(header.size(), expected.size());
  if (std::equal(header.begin(), header.end(), expected.begin())) return absl::OkStatus();
  LittleEndianReader checksum(header.last(16));
  const Checksum whole = ChecksumOf(header.first(header.size() - 16));
  if (checksum.Number<uint64_t>() != whole.low || checksum.Number<uint64_t>() != whole.high) {
    return InputError(
        "bad_checksum", "",
        absl::StrCat("its header is damaged: bytes ", kMarkBytes, " to ", header.size()));
  }
  return InputError("pack_mismatch", "", "it holds the experts of another pack");
}

}  // namespace strata
