// libFuzzer target: any bytes as a routing trace, and as the header and the records of one whose
// checksums are right.
//
// The input's first two bytes are the length of the header, little-endian; 0 stands for a sound
// header, and all the rest are records.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/testing/profile_invariants.h"
#include "strata/cache/testing/test_trace.h"
#include "strata/cache/trace/trace_codec.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/core/little_endian.h"

namespace strata {
namespace {

void CheckTrace(absl::Span<const std::byte> bytes) {
  static ScratchFile* const file = new ScratchFile;
  file->Set(absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const std::string broken = BrokenTrace(file->path());
  CHECK(broken.empty()) << broken;
}

std::vector<std::byte> SoundHeader() {
  LittleEndianWriter writer;
  AppendTraceHeader(TestTraceHeader(), writer);
  return writer.bytes();
}

}  // namespace
}  // namespace strata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  strata::CheckTrace(bytes);
  strata::LittleEndianReader reader(bytes);
  const uint64_t header_bytes = reader.Number<uint16_t>();
  const auto header = reader.Raw(std::min(header_bytes, reader.bytes_left()));
  const auto records = reader.Raw(reader.bytes_left());
  static const auto* const sound = new std::vector<std::byte>(strata::SoundHeader());
  strata::CheckTrace(strata::TraceOfPayloads(header.empty() ? *sound : header, records));
  return 0;
}
