#include "strata/tools/stage_experiments/copy_experiments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/host_memory.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {
namespace {

constexpr int kWarmUpCopies = 8;

absl::Status RecordAndWait(Device& device, const DeviceStream& stream) {
  ASSIGN_OR_RETURN(const DeviceEvent event, device.Record(stream));
  return device.Wait(event);
}

absl::StatusOr<HostBuffer> Pinned(const Bench& bench, absl::string_view purpose, int64_t unit,
                                  int64_t units) {
  HostMemory pinned(bench.device, bench.budget);
  return pinned.Allocate(
      {.purpose = purpose, .unit_bytes = unit, .num_units = units, .min_units = units});
}

Measurement::Figure Rate(double bytes, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (double s : seconds) rates.push_back(bytes / s / 1e9);
  return {"gb_per_s", Summarize(std::move(rates))};
}

// Buffers that a ring of copies reads from, and what each fill copies into them.
struct Ring {
  std::vector<std::byte*> buffers;
  absl::Span<const std::byte> fill_source;  // Empty: no fill.
};

struct CopyTimes {
  std::vector<double> call_us;
  std::vector<double> end_to_end_us;
};

absl::StatusOr<CopyTimes> TimeCopies(const Bench& bench, const Ring& ring,
                                     const DeviceMemory& destination, const DeviceStream& stream) {
  const int64_t bytes = bench.effort.copy_bytes;
  CopyTimes times;
  for (int i = -kWarmUpCopies; i < bench.effort.num_copies; ++i) {
    const size_t place = (i + kWarmUpCopies) % ring.buffers.size();
    std::byte* const buffer = ring.buffers[place];
    if (!ring.fill_source.empty()) {
      std::memcpy(buffer, ring.fill_source.data() + place * bytes, bytes);
    }
    const Stopwatch watch;
    RETURN_IF_ERROR(bench.device.CopyToDevice(destination.data() + place * bytes,
                                              absl::MakeConstSpan(buffer, bytes), stream));
    const double call = watch.Seconds();
    RETURN_IF_ERROR(RecordAndWait(bench.device, stream));
    if (i < 0) continue;
    times.call_us.push_back(call * 1e6);
    times.end_to_end_us.push_back(watch.Seconds() * 1e6);
  }
  return times;
}

std::vector<std::byte*> Pieces(std::byte* start, int64_t bytes, int count) {
  std::vector<std::byte*> pieces;
  for (int i = 0; i < count; ++i) pieces.push_back(start + i * bytes);
  return pieces;
}

Measurement CopyMeasurement(absl::string_view arm, CopyTimes times, double bytes,
                            double link_gb_per_s) {
  Measurement result{.experiment = "per copy", .arm = std::string(arm)};
  const Distribution end_to_end = Summarize(std::move(times.end_to_end_us));
  result.figures = {{"call_us", Summarize(std::move(times.call_us))},
                    {"end_to_end_us", end_to_end}};
  NoteShareOfLink(bytes / end_to_end.median / 1e3, link_gb_per_s, result);
  return result;
}

absl::StatusOr<Measurement> ProbeDirection(const Bench& bench, bool to_device,
                                           const HostBuffer& host, const DeviceMemory& memory,
                                           const DeviceStream& stream) {
  std::vector<double> seconds;
  for (int i = -1; i < bench.effort.repetitions; ++i) {
    const Stopwatch watch;
    RETURN_IF_ERROR(to_device ? bench.device.CopyToDevice(memory.data(), host.bytes(), stream)
                              : bench.device.CopyToHost(host.bytes(), memory.data(), stream));
    RETURN_IF_ERROR(RecordAndWait(bench.device, stream));
    if (i >= 0) seconds.push_back(watch.Seconds());
  }
  Measurement result{
      .experiment = "link",
      .arm = to_device ? "large copies, host to device" : "large copies, device to host"};
  result.figures = {Rate(static_cast<double>(host.size()), seconds)};
  result.remark = absl::StrCat(host.Describe());
  return result;
}

}  // namespace

absl::StatusOr<LinkProbe> ProbeLink(const Bench& bench) {
  ASSIGN_OR_RETURN(const HostBuffer host, Pinned(bench, "link probe", bench.effort.probe_bytes, 1));
  ASSIGN_OR_RETURN(const DeviceMemory memory, bench.device.Allocate(bench.effort.probe_bytes));
  ASSIGN_OR_RETURN(const DeviceStream stream, bench.device.CreateStream());
  LinkProbe probe;
  for (bool to_device : {true, false}) {
    ASSIGN_OR_RETURN(Measurement result, ProbeDirection(bench, to_device, host, memory, stream));
    if (!host.pinned()) result.remark += ": not the rate of the link, so shares of it are left out";
    probe.measurements.push_back(std::move(result));
  }
  if (host.pinned()) probe.gb_per_s = probe.measurements[0].figures[0].value.median;
  return probe;
}

absl::StatusOr<std::vector<Measurement>> MeasureSingleCopies(const Bench& bench) {
  const int64_t bytes = bench.effort.copy_bytes;
  const int count = bench.effort.ring_buffers;
  ASSIGN_OR_RETURN(const HostBuffer pinned, Pinned(bench, "ring of copies", bytes, count));
  std::vector<std::vector<std::byte>> pageable(count, std::vector<std::byte>(bytes));
  std::vector<std::byte> fresh(bytes * count, std::byte{0x5a});
  ASSIGN_OR_RETURN(const DeviceMemory destination, bench.device.Allocate(bytes * count));
  ASSIGN_OR_RETURN(const DeviceStream stream, bench.device.CreateStream());
  std::vector<std::byte*> pageable_buffers;
  for (std::vector<std::byte>& buffer : pageable) pageable_buffers.push_back(buffer.data());
  const std::vector<std::byte*> pinned_buffers = Pieces(pinned.data(), bytes, count);

  std::vector<Measurement> results;
  for (bool fill : {false, true}) {
    for (bool pin : {false, true}) {
      const Ring ring{pin ? pinned_buffers : pageable_buffers,
                      fill ? absl::MakeConstSpan(fresh) : absl::Span<const std::byte>()};
      ASSIGN_OR_RETURN(CopyTimes times, TimeCopies(bench, ring, destination, stream));
      results.push_back(CopyMeasurement(
          absl::StrCat(pin ? "pinned" : "pageable", fill ? ", after a fill" : ", copy only"),
          std::move(times), static_cast<double>(bytes), bench.link_gb_per_s));
    }
    Measurement& with_pin = results.back();
    const double pageable_us = results[results.size() - 2].figures[1].value.median;
    with_pin.notes.push_back(
        {"times_faster_than_pageable", pageable_us / with_pin.figures[1].value.median});
  }
  return results;
}

}  // namespace strata::stagebench
