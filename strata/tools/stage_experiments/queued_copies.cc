#include "strata/tools/stage_experiments/queued_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"
#include "strata/tools/stage_experiments/pinned_sources.h"

namespace strata::stagebench {
namespace {

constexpr int kNumStreams = 2;

struct Submission {
  absl::string_view name;
  int num_streams;
  int batch;  // Copies of one call.
};

// A turn of both streams writes each buffer of the ring at most once: no two copies that may run
// side by side have one destination.
std::vector<Submission> Submissions(const Effort& effort) {
  const int batch = effort.ring_buffers / kNumStreams;
  return {{"one by one, one stream", 1, 1},
          {"one by one, two streams", kNumStreams, 1},
          {"in batches, one stream", 1, batch},
          {"in batches, two streams", kNumStreams, batch}};
}

absl::Status Submit(Device& device, absl::Span<const HostToDeviceCopy> copies,
                    const Submission& how, const std::vector<DeviceStream>& streams) {
  for (size_t i = 0, turn = 0; i < copies.size(); i += how.batch, ++turn) {
    const DeviceStream& stream = streams[turn % how.num_streams];
    const absl::Span<const HostToDeviceCopy> now = copies.subspan(i, how.batch);
    if (how.batch > 1) {
      RETURN_IF_ERROR(device.CopyBatchToDevice(now, stream));
    } else {
      RETURN_IF_ERROR(device.CopyToDevice(
          now[0].destination, absl::MakeConstSpan(now[0].source, now[0].bytes), stream));
    }
  }
  return absl::OkStatus();
}

absl::Status WaitForAll(Device& device, const std::vector<DeviceStream>& streams) {
  for (const DeviceStream& stream : streams) {
    ASSIGN_OR_RETURN(const DeviceEvent event, device.Record(stream));
    RETURN_IF_ERROR(device.Wait(event));
  }
  return absl::OkStatus();
}

// Blob-sized pieces of `source`, over and over, into a ring of device buffers.
std::vector<HostToDeviceCopy> Copies(const Effort& effort, absl::Span<const std::byte> source,
                                     const DeviceMemory& memory) {
  const int64_t bytes = std::min<int64_t>(effort.copy_bytes, source.size());
  const int64_t num_sources = static_cast<int64_t>(source.size()) / bytes;
  std::vector<HostToDeviceCopy> copies;
  for (int64_t i = 0; i < effort.queued_copies; ++i) {
    copies.push_back({.destination = memory.data() + i % effort.ring_buffers * effort.copy_bytes,
                      .source = source.data() + i % num_sources * bytes,
                      .bytes = bytes});
  }
  return copies;
}

absl::StatusOr<Measurement> TimeSubmission(const Bench& bench, absl::string_view source,
                                           const Submission& how,
                                           absl::Span<const HostToDeviceCopy> copies,
                                           const std::vector<DeviceStream>& streams) {
  std::vector<double> rates, issue_us;
  const double bytes = static_cast<double>(copies[0].bytes) * static_cast<double>(copies.size());
  for (int i = -1; i < bench.effort.repetitions; ++i) {
    const Stopwatch watch;
    RETURN_IF_ERROR(Submit(bench.device, copies, how, streams));
    const double issued = watch.Seconds();
    RETURN_IF_ERROR(WaitForAll(bench.device, streams));
    if (i < 0) continue;
    rates.push_back(bytes / watch.Seconds() / 1e9);
    issue_us.push_back(issued * 1e6 / static_cast<double>(copies.size()));
  }
  Measurement result{.experiment = "queued copies", .arm = absl::StrCat(source, "; ", how.name)};
  const Distribution rate = Summarize(std::move(rates));
  result.figures = {{"gb_per_s", rate}, {"issue_us_per_copy", Summarize(std::move(issue_us))}};
  NoteShareOfLink(rate.median, bench.link_gb_per_s, result);
  return result;
}

int64_t SourceBytes(const Effort& effort) { return effort.copy_bytes * effort.ring_buffers; }

}  // namespace

absl::StatusOr<std::vector<Measurement>> MeasureQueuedCopies(const Bench& bench) {
  std::vector<Measurement> results;
  ASSIGN_OR_RETURN(const DeviceMemory memory, bench.device.Allocate(SourceBytes(bench.effort)));
  std::vector<DeviceStream> streams(kNumStreams);
  for (DeviceStream& stream : streams) {
    ASSIGN_OR_RETURN(stream, bench.device.CreateStream());
  }
  const auto measure = [&](absl::string_view name,
                           absl::Span<const std::byte> source) -> absl::Status {
    const std::vector<HostToDeviceCopy> copies = Copies(bench.effort, source, memory);
    for (const Submission& how : Submissions(bench.effort)) {
      ASSIGN_OR_RETURN(Measurement result, TimeSubmission(bench, name, how, copies, streams));
      results.push_back(std::move(result));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachPinnedSource(bench, SourceBytes(bench.effort), measure,
                                      NoteRefusals("queued copies", results)));
  return results;
}

}  // namespace strata::stagebench
