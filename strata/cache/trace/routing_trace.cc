#include "strata/cache/trace/routing_trace.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/trace/trace_codec.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/atomic_file.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/little_endian.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr absl::string_view kMagic = "STRATRAC";
// A block ends with the record that reaches this.
constexpr size_t kBlockBytes = 64 << 10;
constexpr size_t kChecksumBytes = 16;
constexpr int64_t kDropBytes = 64 << 10;  // Whole pages, of any size in use.

// With the block's number, so that a block in another's place is told as well.
Checksum ChecksumOfBlock(uint64_t number, absl::Span<const std::byte> payload) {
  ChecksumBuilder checksum;
  checksum.Add(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&number), sizeof number));
  checksum.Add(payload);
  return checksum.Finish();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RoutingTraceWriter>> RoutingTraceWriter::Create(
    const std::string& path, const TraceHeader& header) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  std::unique_ptr<RoutingTraceWriter> writer(new RoutingTraceWriter(header, std::move(file)));
  RETURN_IF_ERROR(writer->error_);
  return writer;
}

RoutingTraceWriter::RoutingTraceWriter(const TraceHeader& header, AtomicFile file)
    : geometry_(header.identity.geometry), file_(std::move(file)) {
  frame_.Raw(kMagic).Number(kTraceVersion);
  error_ = file_.Append(frame_.bytes());
  AppendTraceHeader(header, payload_);
  EndBlock();
}

void RoutingTraceWriter::AddStep(const RoutedStep& step) {
  CHECK_GT(step.number, last_step_);
  last_step_ = step.number;
  AppendTraceRecord(geometry_, step, payload_);
  EndRecord();
}

void RoutingTraceWriter::AddRates(const TraceRates& rates) {
  AppendTraceRecord(rates, payload_);
  EndRecord();
}

void RoutingTraceWriter::AddSwap(const TraceSwap& swap) {
  AppendTraceRecord(swap, payload_);
  EndRecord();
}

void RoutingTraceWriter::AddResidency(const TraceResidency& residency) {
  AppendTraceRecord(residency, payload_);
  EndRecord();
}

void RoutingTraceWriter::AddLandings(const TraceLandings& landings) {
  AppendTraceRecord(landings, payload_);
  EndRecord();
}

void RoutingTraceWriter::EndRecord() {
  if (payload_.bytes().size() >= kBlockBytes) EndBlock();
}

void RoutingTraceWriter::EndBlock() {
  CHECK_LE(payload_.bytes().size(), std::numeric_limits<uint32_t>::max());
  const Checksum checksum = ChecksumOfBlock(num_blocks_++, payload_.bytes());
  frame_.Clear();
  frame_.Number(static_cast<uint32_t>(payload_.bytes().size()))
      .Raw(payload_.bytes())
      .Number(checksum.low)
      .Number(checksum.high);
  if (error_.ok()) error_ = file_.Append(frame_.bytes());
  payload_.Clear();
}

absl::Status RoutingTraceWriter::Finish() {
  if (!payload_.bytes().empty()) EndBlock();
  EndBlock();  // An empty one is the end.
  RETURN_IF_ERROR(error_);
  return file_.Commit();
}

RoutingTraceReader::RoutingTraceReader(std::unique_ptr<FileMapping> file)
    : file_(std::move(file)), block_({}) {}

absl::StatusOr<std::unique_ptr<RoutingTraceReader>> RoutingTraceReader::Open(
    const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  std::unique_ptr<RoutingTraceReader> reader(new RoutingTraceReader(std::move(file)));
  const absl::Status status = reader->ReadHeader();
  if (!status.ok()) return reader->Explained(status);
  return reader;
}

absl::Status RoutingTraceReader::ReadHeader() {
  LittleEndianReader preamble(file_->bytes());
  if (preamble.Text(kMagic.size()) != kMagic) {
    return InputError("bad_magic", "", "it is no routing trace: it does not begin with STRATRAC");
  }
  version_ = preamble.Number<uint32_t>();
  if (preamble.failed()) return InputError("truncated", "", "the file ends in its first bytes");
  if (version_ < 1 || version_ > kTraceVersion) {
    return InputError(
        "bad_version", "",
        absl::StrCat("a trace of version ", version_, "; known are 1 to ", kTraceVersion));
  }
  position_ = file_->size() - static_cast<int64_t>(preamble.bytes_left());
  ASSIGN_OR_RETURN(const absl::Span<const std::byte> payload, NextBlock());
  LittleEndianReader block(payload);
  ASSIGN_OR_RETURN(header_, ReadTraceHeader(block, version_));
  if (block.bytes_left() > 0) {
    return InputError("bad_record", "", "bytes follow the trace's header");
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const std::byte>> RoutingTraceReader::NextBlock() {
  LittleEndianReader rest(file_->bytes().subspan(static_cast<size_t>(position_)));
  const auto num_bytes = rest.Number<uint32_t>();
  if (rest.failed() || rest.bytes_left() < kChecksumBytes ||
      num_bytes > rest.bytes_left() - kChecksumBytes) {
    return InputError("truncated", "",
                      absl::StrCat("the trace ends after ", file_->size(), " bytes, inside block ",
                                   num_blocks_, ": the run that wrote it did not finish it"));
  }
  const absl::Span<const std::byte> payload = rest.Raw(num_bytes);
  Checksum checksum;
  checksum.low = rest.Number<uint64_t>();
  checksum.high = rest.Number<uint64_t>();
  if (checksum != ChecksumOfBlock(num_blocks_, payload)) {
    return InputError("bad_checksum", "",
                      absl::StrCat("block ", num_blocks_, ", at byte ", position_, ", is damaged"));
  }
  ++num_blocks_;
  position_ = file_->size() - static_cast<int64_t>(rest.bytes_left());
  return payload;
}

absl::StatusOr<std::optional<TraceRecord>> RoutingTraceReader::NextRecord() {
  if (block_.bytes_left() == 0) {
    // Overlapping the last time, since only whole pages are dropped.
    file_->DropPages(read_to_, position_ - read_to_);
    read_to_ = position_ / kDropBytes * kDropBytes;
    ASSIGN_OR_RETURN(const absl::Span<const std::byte> payload, NextBlock());
    if (payload.empty() && position_ < file_->size()) {
      return InputError(
          "bad_length", "",
          absl::StrCat(file_->size() - position_, " bytes follow the end of the trace"));
    }
    if (payload.empty()) return std::nullopt;
    block_ = LittleEndianReader(payload);
  }
  ASSIGN_OR_RETURN(TraceRecord record, ReadTraceRecord(geometry(), block_, version_));
  RETURN_IF_ERROR(CheckRecord(record));
  return record;
}

absl::Status RoutingTraceReader::CheckRecord(const TraceRecord& record) {
  if (const auto* step = std::get_if<RoutedStep>(&record)) {
    if (step->number <= last_step_) {
      return InputError("bad_record", "",
                        absl::StrCat("step ", step->number, " follows step ", last_step_));
    }
    last_step_ = step->number;
  }
  if (const auto* change = std::get_if<TraceResidency>(&record)) {
    RETURN_IF_ERROR(CheckSlot(change->slot));
  }
  if (const auto* landings = std::get_if<TraceLandings>(&record)) {
    for (const TraceLandings::Landed& landed : landings->landed) {
      RETURN_IF_ERROR(CheckSlot(landed.slot));
    }
  }
  return absl::OkStatus();
}

absl::Status RoutingTraceReader::CheckSlot(int slot) const {
  if (slot < std::ssize(header_.tier.slots)) return absl::OkStatus();
  return InputError("bad_record", "",
                    absl::StrCat("slot ", slot, " of ", header_.tier.slots.size()));
}

absl::StatusOr<std::optional<TraceRecord>> RoutingTraceReader::Next() {
  absl::StatusOr<std::optional<TraceRecord>> record = NextRecord();
  if (!record.ok()) return Explained(record.status());
  if (!record->has_value()) RETURN_IF_ERROR(file_->CheckUnchanged());
  return record;
}

absl::Status RoutingTraceReader::Explained(const absl::Status& status) const {
  RETURN_IF_ERROR(file_->CheckUnchanged());
  return WithFile(status, file_->path());
}

}  // namespace strata
