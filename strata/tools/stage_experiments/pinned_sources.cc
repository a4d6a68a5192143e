#include "strata/tools/stage_experiments/pinned_sources.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_memory.h"
#include "strata/core/status_macros.h"

namespace strata::stagebench {
namespace {

constexpr int64_t kPageBytes = 4096;

using Use = std::function<absl::Status(absl::string_view, absl::Span<const std::byte>)>;
using Refused = std::function<void(absl::string_view, const absl::Status&)>;

absl::Status UseSlab(const Bench& bench, int64_t bytes, bool huge_pages, absl::string_view name,
                     const Use& use, const Refused& refused) {
  HostMemory memory(bench.device, bench.budget, {.huge_pages = huge_pages});
  absl::StatusOr<HostBuffer> slab = memory.Allocate(
      {.purpose = "stagebench", .unit_bytes = bytes, .num_units = 1, .pageable_will_do = false});
  if (!slab.ok()) {
    refused(name, slab.status());
    return absl::OkStatus();
  }
  return use(name, slab->bytes());
}

absl::Status UseMapping(const Bench& bench, int64_t bytes, const Use& use, const Refused& refused) {
  constexpr absl::string_view kName = "registered mapping";
  const absl::Span<const std::byte> window = WarmWindow(bench.file.shards()[0]->mapping(), bytes);
  absl::StatusOr<HostRegistration> registration =
      window.empty() ? absl::FailedPreconditionError("the model is smaller than a page")
                     : bench.device.RegisterReadOnly(window);
  if (!registration.ok()) {
    bench.device.ClearError();
    refused(kName, registration.status());
    return absl::OkStatus();
  }
  return use(kName, window);
}

}  // namespace

absl::Span<const std::byte> WarmWindow(const FileMapping& mapping, int64_t max_bytes) {
  const int64_t size = std::min(max_bytes, mapping.size()) / kPageBytes * kPageBytes;
  const absl::Span<const std::byte> window = mapping.bytes().subspan(0, size);
  std::byte sum{};
  for (int64_t at = 0; at < size; at += kPageBytes) sum ^= window[at];
  volatile std::byte keep = sum;  // The reads are the point.
  static_cast<void>(keep);
  return window;
}

absl::Status ForEachPinnedSource(const Bench& bench, int64_t bytes, const Use& use,
                                 const Refused& refused) {
  RETURN_IF_ERROR(UseSlab(bench, bytes, true, "slab, huge pages", use, refused));
  RETURN_IF_ERROR(UseSlab(bench, bytes, false, "slab, 4 KiB pages", use, refused));
  return UseMapping(bench, bytes, use, refused);
}

std::function<void(absl::string_view, const absl::Status&)> NoteRefusals(
    absl::string_view experiment, std::vector<Measurement>& results) {
  return [experiment = std::string(experiment), &results](absl::string_view source,
                                                          const absl::Status& why) {
    results.push_back({.experiment = experiment,
                       .arm = std::string(source),
                       .remark = absl::StrCat("refused: ", why.message())});
  };
}

}  // namespace strata::stagebench
