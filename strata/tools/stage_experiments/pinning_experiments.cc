#include "strata/tools/stage_experiments/pinning_experiments.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_memory.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"
#include "strata/tools/stage_experiments/pinned_sources.h"

namespace strata::stagebench {
namespace {

constexpr double kMiB = 1 << 20;

// Times `pin` once; what it pinned is freed outside the clock.
using Pin = std::function<absl::StatusOr<double>()>;

absl::StatusOr<Measurement> Repeat(const Bench& bench, absl::string_view arm, int64_t bytes,
                                   const Pin& pin) {
  std::vector<double> ms_per_mib;
  for (int i = 0; i < bench.effort.repetitions; ++i) {
    ASSIGN_OR_RETURN(const double seconds, pin());
    ms_per_mib.push_back(seconds * 1e3 / (static_cast<double>(bytes) / kMiB));
  }
  Measurement result{.experiment = "pinning", .arm = std::string(arm)};
  result.figures = {{"ms_per_mib", Summarize(std::move(ms_per_mib))}};
  return result;
}

absl::StatusOr<double> PinEachBuffer(const Bench& bench) {
  std::vector<PinnedMemory> buffers;
  buffers.reserve(bench.effort.pinned_buffers);
  const Stopwatch watch;
  for (int i = 0; i < bench.effort.pinned_buffers; ++i) {
    ASSIGN_OR_RETURN(PinnedMemory buffer, bench.device.AllocatePinned(bench.effort.copy_bytes));
    buffers.push_back(std::move(buffer));
  }
  return watch.Seconds();
}

absl::StatusOr<double> PinSlab(const Bench& bench, const HostMemory::Options& options) {
  HostMemory memory(bench.device, bench.budget, options);
  const Stopwatch watch;
  ASSIGN_OR_RETURN(const HostBuffer slab, memory.Allocate({.purpose = "pinning experiment",
                                                           .unit_bytes = bench.effort.copy_bytes,
                                                           .num_units = bench.effort.pinned_buffers,
                                                           .min_units = bench.effort.pinned_buffers,
                                                           .pageable_will_do = false}));
  return watch.Seconds();
}

absl::StatusOr<double> PinMapping(const Bench& bench, absl::Span<const std::byte> window) {
  const Stopwatch watch;
  ASSIGN_OR_RETURN(const HostRegistration registration, bench.device.RegisterReadOnly(window));
  return watch.Seconds();
}

// A refusal is a result of this experiment, not the end of it.
Measurement Refused(const Bench& bench, absl::string_view arm, const absl::Status& why) {
  bench.device.ClearError();
  return {.experiment = "pinning",
          .arm = std::string(arm),
          .remark = absl::StrCat("refused: ", why.message())};
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> MeasurePinning(const Bench& bench) {
  const int64_t bytes = bench.effort.copy_bytes * bench.effort.pinned_buffers;
  const absl::Span<const std::byte> window = WarmWindow(bench.file.shards()[0]->mapping(), bytes);
  struct Arm {
    absl::string_view name;
    int64_t bytes;
    Pin pin;
  };
  const std::vector<Arm> arms = {
      {"a driver call per buffer", bytes, [&] { return PinEachBuffer(bench); }},
      {"one driver slab", bytes, [&] { return PinSlab(bench, {.form = HostMemoryForm::kDriver}); }},
      {"registered slab, 4 KiB pages", bytes,
       [&] { return PinSlab(bench, {.huge_pages = false}); }},
      {"registered slab, huge pages", bytes, [&] { return PinSlab(bench, {}); }},
      {"registered slab, huge pages, 8 threads", bytes,
       [&] { return PinSlab(bench, {.num_touching_threads = 8}); }},
      {"registered mapping", static_cast<int64_t>(window.size()),
       [&] { return PinMapping(bench, window); }},
  };
  std::vector<Measurement> results;
  for (const Arm& arm : arms) {
    absl::StatusOr<Measurement> result =
        arm.bytes > 0 ? Repeat(bench, arm.name, arm.bytes, arm.pin)
                      : absl::FailedPreconditionError("the model is smaller than a page");
    results.push_back(result.ok() ? *std::move(result) : Refused(bench, arm.name, result.status()));
    const Measurement& first = results.front();
    if (!results.back().figures.empty() && !first.figures.empty()) {
      results.back().notes = {
          {"times_cheaper_than_a_call_per_buffer",
           first.figures[0].value.median / results.back().figures[0].value.median}};
    }
  }
  return results;
}

}  // namespace strata::stagebench
