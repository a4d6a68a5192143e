#include "strata/cache/testing/profile_invariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/profile/profile_figures.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_codec.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/little_endian.h"

namespace strata {
namespace {

constexpr absl::string_view kProfileKinds[] = {
    "bad_checksum", "bad_geometry", "bad_length",    "bad_magic",
    "bad_source",   "bad_version",  "size_overflow", "truncated",
};
constexpr absl::string_view kTraceKinds[] = {
    "bad_checksum", "bad_geometry", "bad_length", "bad_magic",
    "bad_record",   "bad_version",  "truncated",
};

std::string BrokenRefusal(const absl::Status& status, absl::Span<const absl::string_view> kinds) {
  if (std::find(kinds.begin(), kinds.end(), ErrorKind(status)) == kinds.end()) {
    return absl::StrCat("a refusal of kind '", ErrorKind(status), "': ", status.ToString());
  }
  return ErrorFile(status).empty() ? absl::StrCat("names no file: ", status.ToString()) : "";
}

std::string BrokenRank(const ExpertProfile& profile) {
  std::vector<int> rank = profile.Rank();
  for (size_t i = 1; i < rank.size(); ++i) {
    if (profile.counts()[rank[i - 1]] < profile.counts()[rank[i]]) return "the rank is not sorted";
  }
  std::sort(rank.begin(), rank.end());
  for (size_t i = 0; i < rank.size(); ++i) {
    if (rank[i] != static_cast<int>(i)) return "the rank does not hold every expert once";
  }
  return "";
}

void AppendChecksum(const Checksum& checksum, LittleEndianWriter& writer) {
  writer.Number(checksum.low).Number(checksum.high);
}

}  // namespace

std::string BrokenProfile(absl::Span<const std::byte> bytes) {
  const auto profile = ParseProfile(bytes, "profile");
  if (!profile.ok()) return BrokenRefusal(profile.status(), kProfileKinds);
  if (absl::MakeConstSpan(ProfileBytes(*profile)) != bytes) return "a profile of two forms";
  const CoverageCurve curve(*profile);
  if (curve.points().back().num_entries != profile->num_entries() ||
      curve.points().back().blob_bytes != profile->geometry().total_blob_bytes()) {
    return "the coverage of all is not all";
  }
  return BrokenRank(*profile);
}

std::string BrokenTrace(const std::string& path) {
  const auto reader = RoutingTraceReader::Open(path);
  if (!reader.ok()) return BrokenRefusal(reader.status(), kTraceKinds);
  const ExpertGeometry& geometry = (*reader)->geometry();
  while (true) {
    const auto record = (*reader)->Next();
    if (!record.ok()) return BrokenRefusal(record.status(), kTraceKinds);
    if (!record->has_value()) return "";
    const auto* const step = std::get_if<RoutedStep>(&**record);
    if (step == nullptr) continue;
    ExpertProfile counted((*reader)->header().identity);
    counted.Count(*step);
    if (counted.num_tokens() != static_cast<uint64_t>(step->num_accepted)) return "a step's tokens";
    if (step->Chosen(geometry, geometry.layers().size() - 1, step->num_tokens - 1).size() !=
        static_cast<size_t>(geometry.num_used())) {
      return "a step's choices";
    }
  }
}

std::vector<std::byte> ProfileOfBody(absl::Span<const std::byte> body) {
  LittleEndianWriter writer;
  writer.Raw("STRAPROF").Number(uint32_t{1}).Number(uint64_t{body.size()}).Raw(body);
  AppendChecksum(ChecksumOf(writer.bytes()), writer);
  return writer.bytes();
}

std::vector<std::byte> TraceOfPayloads(absl::Span<const std::byte> header,
                                       absl::Span<const std::byte> records) {
  LittleEndianWriter writer;
  writer.Raw("STRATRAC").Number(kTraceVersion);
  uint64_t number = 0;
  for (const absl::Span<const std::byte> payload : {header, records, {}}) {
    LittleEndianWriter checked;
    checked.Number(number++).Raw(payload);
    writer.Number(static_cast<uint32_t>(payload.size())).Raw(payload);
    AppendChecksum(ChecksumOf(checked.bytes()), writer);
    if (payload.empty()) break;  // The end.
  }
  return writer.bytes();
}

}  // namespace strata
