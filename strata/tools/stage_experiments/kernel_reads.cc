#include "strata/tools/stage_experiments/kernel_reads.h"

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
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/host_read_kernel.h"
#include "strata/tools/stage_experiments/measurement.h"
#include "strata/tools/stage_experiments/pinned_sources.h"

namespace strata::stagebench {
namespace {

constexpr size_t kSlicesOfABlob = 3;
constexpr int kBlocks = 128;  // In all; enough to fill the link.

// Buffers of the read kernel: the slices' list must be where kernels can read it.
struct KernelBuffers {
  DeviceMemory slices;
  DeviceMemory sums;
  DeviceStream stream;
};

absl::Status UploadSlices(const Bench& bench, absl::Span<const ReadSlice> slices,
                          const KernelBuffers& buffers) {
  const std::vector<uint32_t> zeros(slices.size(), 0);
  RETURN_IF_ERROR(bench.device.CopyToDevice(
      buffers.slices.data(),
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(slices.data()),
                          slices.size() * sizeof(ReadSlice)),
      buffers.stream));
  return bench.device.CopyToDevice(
      buffers.sums.data(),
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(zeros.data()), zeros.size() * 4),
      buffers.stream);
}

// Twelve slices are three at a time of four experts; all are what a prompt would read.
std::vector<ReadSlice> Slices(const Effort& effort, absl::Span<const std::byte> source) {
  const int64_t bytes = std::max<int64_t>(effort.copy_bytes / 3 / 16 * 16, 16);
  std::vector<ReadSlice> slices;
  for (int64_t at = 0; at + bytes <= static_cast<int64_t>(source.size());
       at += (bytes + 255) / 256 * 256) {
    slices.push_back({source.data() + at, bytes});
  }
  return slices;
}

uint32_t FoldOnHost(const ReadSlice& slice) {
  uint32_t sum = 0;
  for (int64_t at = 0; at < slice.bytes; at += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, slice.data + at, sizeof word);
    sum ^= word;
  }
  return sum;
}

// The kernel read what the host sees, slice by slice.
absl::Status CheckSums(const Bench& bench, absl::Span<const ReadSlice> slices,
                       const KernelBuffers& buffers) {
  std::vector<uint32_t> sums(slices.size());
  RETURN_IF_ERROR(bench.device.CopyToHost(
      absl::MakeSpan(reinterpret_cast<std::byte*>(sums.data()), sums.size() * 4),
      buffers.sums.data(), buffers.stream));
  ASSIGN_OR_RETURN(const DeviceEvent event, bench.device.Record(buffers.stream));
  RETURN_IF_ERROR(bench.device.Wait(event));
  for (size_t i = 0; i < slices.size(); ++i) {
    if (sums[i] != FoldOnHost(slices[i])) {
      return absl::InternalError(
          absl::StrCat("the kernel read other bytes than the host in slice ", i));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Measurement> TimeKernel(const Bench& bench, absl::string_view source,
                                       absl::Span<const ReadSlice> slices, int blocks,
                                       const KernelBuffers& buffers) {
  std::vector<double> rates;
  double bytes = 0;
  for (const ReadSlice& slice : slices) bytes += static_cast<double>(slice.bytes);
  for (int i = -1; i < bench.effort.repetitions; ++i) {
    RETURN_IF_ERROR(UploadSlices(bench, slices, buffers));
    ASSIGN_OR_RETURN(const DeviceEvent uploaded, bench.device.Record(buffers.stream));
    RETURN_IF_ERROR(bench.device.Wait(uploaded));
    const Stopwatch watch;
    RETURN_IF_ERROR(LaunchHostRead(
        reinterpret_cast<const ReadSlice*>(buffers.slices.data()), static_cast<int>(slices.size()),
        blocks, reinterpret_cast<uint32_t*>(buffers.sums.data()), buffers.stream));
    ASSIGN_OR_RETURN(const DeviceEvent done, bench.device.Record(buffers.stream));
    RETURN_IF_ERROR(bench.device.Wait(done));
    if (i >= 0) rates.push_back(bytes / watch.Seconds() / 1e9);
  }
  RETURN_IF_ERROR(CheckSums(bench, slices, buffers));
  Measurement result{.experiment = "kernel reads",
                     .arm = absl::StrCat(source, "; ", slices.size(), " slices at once")};
  const Distribution rate = Summarize(std::move(rates));
  result.figures = {{"gb_per_s", rate}};
  NoteShareOfLink(rate.median, bench.link_gb_per_s, result);
  return result;
}

absl::Status MeasureKernelOn(const Bench& bench, absl::string_view source,
                             absl::Span<const std::byte> bytes, std::vector<Measurement>& results) {
  const std::vector<ReadSlice> slices = Slices(bench.effort, bytes);
  if (slices.empty()) return absl::OkStatus();
  KernelBuffers buffers;
  ASSIGN_OR_RETURN(buffers.slices,
                   bench.device.Allocate(static_cast<int64_t>(slices.size() * sizeof(ReadSlice))));
  ASSIGN_OR_RETURN(buffers.sums, bench.device.Allocate(static_cast<int64_t>(slices.size() * 4)));
  ASSIGN_OR_RETURN(buffers.stream, bench.device.CreateStream());
  for (size_t count : {kSlicesOfABlob, slices.size()}) {
    const auto some = absl::MakeConstSpan(slices).subspan(0, count);
    const int blocks = std::max(1, kBlocks / static_cast<int>(some.size()));
    ASSIGN_OR_RETURN(Measurement result, TimeKernel(bench, source, some, blocks, buffers));
    results.push_back(std::move(result));
    if (slices.size() <= kSlicesOfABlob) break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> MeasureKernelReads(const Bench& bench) {
  std::vector<Measurement> results;
  if (!bench.device.properties().is_gpu || !HasHostReadKernel()) {
    results.push_back({.experiment = "kernel reads",
                       .arm = "left out",
                       .remark = HasHostReadKernel()
                                     ? "there is no GPU here"
                                     : "this program was built without the CUDA toolkit"});
    return results;
  }
  const auto measure = [&](absl::string_view name, absl::Span<const std::byte> source) {
    return MeasureKernelOn(bench, name, source, results);
  };
  RETURN_IF_ERROR(ForEachPinnedSource(bench, bench.effort.copy_bytes * bench.effort.ring_buffers,
                                      measure, NoteRefusals("kernel reads", results)));
  return results;
}

}  // namespace strata::stagebench
