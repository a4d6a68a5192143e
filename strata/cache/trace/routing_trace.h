// Routing traces in files (docs/formats.md): written as a run goes on, read record by record. The
// file is a row of blocks with a checksum each and an end of its own, so what is cut short or
// damaged is told, and nothing larger than a block is ever in memory.
#ifndef STRATA_CACHE_TRACE_ROUTING_TRACE_H_
#define STRATA_CACHE_TRACE_ROUTING_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/trace/trace_codec.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/atomic_file.h"
#include "strata/core/file_mapping.h"
#include "strata/core/little_endian.h"

namespace strata {

// Used by one thread: the one that decodes. Nothing is allocated once the largest step was seen.
class RoutingTraceWriter {
 public:
  // The errors of AtomicFile, of this and of all other calls.
  static absl::StatusOr<std::unique_ptr<RoutingTraceWriter>> Create(const std::string& path,
                                                                    const TraceHeader& header);

  // Step numbers ascend. An error is kept for Finish; after it nothing is written.
  void AddStep(const RoutedStep& step);
  void AddRates(const TraceRates& rates);
  void AddSwap(const TraceSwap& swap);
  void AddResidency(const TraceResidency& residency);
  void AddLandings(const TraceLandings& landings);
  const absl::Status& status() const { return error_; }

  // Once, at the end: only now the file gets its name. Without it there is none.
  absl::Status Finish();

 private:
  RoutingTraceWriter(const TraceHeader& header, AtomicFile file);
  void EndRecord();
  void EndBlock();

  const ExpertGeometry geometry_;
  AtomicFile file_;
  LittleEndianWriter payload_;  // Of the block being filled.
  LittleEndianWriter frame_;
  uint64_t num_blocks_ = 0;
  int64_t last_step_ = -1;
  absl::Status error_;
};

// Thread-compatible.
class RoutingTraceReader {
 public:
  // Kinds of this and of Next: bad_magic, bad_version, truncated, bad_checksum, bad_length,
  // bad_record, bad_geometry, io, changed.
  static absl::StatusOr<std::unique_ptr<RoutingTraceReader>> Open(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const TraceHeader& header() const { return header_; }
  const ExpertGeometry& geometry() const { return header_.identity.geometry; }

  // In the order of writing; none at the end of a whole and sound trace. Not to be called after an
  // error.
  absl::StatusOr<std::optional<TraceRecord>> Next();

 private:
  explicit RoutingTraceReader(std::unique_ptr<FileMapping> file);
  absl::Status ReadHeader();
  // The payload of the next block; empty at the end.
  absl::StatusOr<absl::Span<const std::byte>> NextBlock();
  absl::StatusOr<std::optional<TraceRecord>> NextRecord();
  // Against the header and the records before it.
  absl::Status CheckRecord(const TraceRecord& record);
  absl::Status CheckSlot(int slot) const;
  // `status` with the file, unless that changed, which explains any error.
  absl::Status Explained(const absl::Status& status) const;

  const std::unique_ptr<FileMapping> file_;
  uint32_t version_ = 0;
  TraceHeader header_;
  int64_t position_ = 0;  // Of the next block.
  int64_t read_to_ = 0;   // Pages before it are not in memory.
  uint64_t num_blocks_ = 0;
  int64_t last_step_ = -1;
  LittleEndianReader block_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TRACE_ROUTING_TRACE_H_
