// Headers and records of routing traces as bytes (docs/formats.md), one by one; routing_trace.h
// puts them into files.
//
// Reading takes any bytes. Errors: kinds bad_record, bad_geometry and truncated, without a file.
#ifndef STRATA_CACHE_TRACE_TRACE_CODEC_H_
#define STRATA_CACHE_TRACE_TRACE_CODEC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/little_endian.h"

namespace strata {

// Of what is written. Version 1 knew no landing, version 2 one rule for it; both are read as well.
constexpr uint32_t kTraceVersion = 3;

void AppendTraceHeader(const TraceHeader& header, LittleEndianWriter& writer);
absl::StatusOr<TraceHeader> ReadTraceHeader(LittleEndianReader& reader,
                                            uint32_t version = kTraceVersion);

// Records are of the geometry: our own mistake otherwise.
void AppendTraceRecord(const ExpertGeometry& geometry, const RoutedStep& step,
                       LittleEndianWriter& writer);
void AppendTraceRecord(const TraceRates& rates, LittleEndianWriter& writer);
void AppendTraceRecord(const TraceSwap& swap, LittleEndianWriter& writer);
void AppendTraceRecord(const TraceResidency& residency, LittleEndianWriter& writer);
void AppendTraceRecord(const TraceLandings& landings, LittleEndianWriter& writer);
absl::StatusOr<TraceRecord> ReadTraceRecord(const ExpertGeometry& geometry,
                                            LittleEndianReader& reader,
                                            uint32_t version = kTraceVersion);

}  // namespace strata

#endif  // STRATA_CACHE_TRACE_TRACE_CODEC_H_
