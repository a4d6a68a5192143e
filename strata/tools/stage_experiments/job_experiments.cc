#include "strata/tools/stage_experiments/job_experiments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/filler_arm.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {
namespace {

using Way = FillerArm::Way;

// Slots of one size in device memory, and which expert goes into each.
class Slots {
 public:
  static absl::StatusOr<Slots> Create(const Bench& bench, const ExpertFiles& files) {
    Slots slots(files);
    ASSIGN_OR_RETURN(const DeviceMemoryInfo info, bench.device.GetMemoryInfo());
    const int64_t fitting = info.free_bytes * 9 / 10 / slots.slot_bytes_;
    const int64_t count = std::min<int64_t>(
        {bench.effort.fill_slots, static_cast<int64_t>(files.ids().size()), fitting});
    if (count == 0) {
      return MachineError(absl::StrCat("the device has ", info.free_bytes,
                                       " bytes free: no slot of ", slots.slot_bytes_, " fits"));
    }
    ASSIGN_OR_RETURN(slots.memory_, bench.device.Allocate(count * slots.slot_bytes_));
    slots.count_ = static_cast<int>(count);
    return slots;
  }

  int count() const { return count_; }

  // `num` experts in no order of the file, into the slots from `first` on. Another `seed`, other
  // experts.
  std::vector<FillItem> Items(int first, int num, uint64_t seed) const {
    std::vector<ExpertId> ids(files_->ids().begin(), files_->ids().end());
    std::mt19937_64 random(seed);
    std::shuffle(ids.begin(), ids.end(), random);
    std::vector<FillItem> items;
    for (int i = 0; i < num; ++i) {
      items.push_back({ids[i], memory_.data() + (first + i) * slot_bytes_});
    }
    return items;
  }

 private:
  explicit Slots(const ExpertFiles& files)
      : files_(&files), slot_bytes_((files.max_blob_bytes() + 255) / 256 * 256) {}

  const ExpertFiles* files_;
  int64_t slot_bytes_;
  DeviceMemory memory_;
  int count_ = 0;
};

int64_t Bytes(const ExpertFiles& files, absl::Span<const FillItem> items) {
  int64_t bytes = 0;
  for (const FillItem& item : items) {
    for (const ExpertSlice& slice : files.Slices(item.id)) bytes += slice.bytes;
  }
  return bytes;
}

// What a run of a job took: the thread that ordered it, the calls that queued its copies, and in
// all.
struct JobTimes {
  std::vector<double> order_us, issue_us_per_copy, total_ms, gb_per_s;
};

absl::Status RunOnce(const ExpertFiles& files, absl::Span<const FillItem> items,
                     CacheFiller& filler, JobTimes& times) {
  const CacheFiller::Counters before = filler.counters();
  const Stopwatch watch;
  filler.Start({.items = items});
  const double ordered = watch.Seconds();
  RETURN_IF_ERROR(filler.Finish());
  const double total = watch.Seconds();
  const CacheFiller::Counters after = filler.counters();
  times.order_us.push_back(ordered * 1e6);
  times.issue_us_per_copy.push_back(static_cast<double>(after.issue_ns - before.issue_ns) / 1e3 /
                                    static_cast<double>(after.num_copies - before.num_copies));
  times.total_ms.push_back(total * 1e3);
  times.gb_per_s.push_back(static_cast<double>(Bytes(files, items)) / total / 1e9);
  return absl::OkStatus();
}

struct JobKind {
  absl::string_view name;
  int num_items;
  int rounds;  // Runs in each repetition, on other experts each time.
};

class JobRunner {
 public:
  JobRunner(const Bench& bench, const ExpertFiles& files, const Slots& slots,
            const JobOptions& options)
      : bench_(bench), files_(files), slots_(slots), options_(options) {}

  absl::StatusOr<std::vector<Measurement>> Run(const JobKind& kind,
                                               absl::Span<const std::unique_ptr<FillerArm>> arms) {
    std::vector<JobTimes> times(arms.size());
    for (int repetition = -1; repetition < bench_.effort.repetitions; ++repetition) {
      for (size_t i = 0; i < arms.size(); ++i) {
        JobTimes warm_up;
        RETURN_IF_ERROR(RunRounds(kind, repetition, *arms[i], repetition < 0 ? warm_up : times[i]));
      }
    }
    std::vector<Measurement> results;
    for (size_t i = 0; i < arms.size(); ++i) {
      results.push_back(Report(kind, *arms[i], std::move(times[i]), results));
    }
    return results;
  }

 private:
  absl::Status RunRounds(const JobKind& kind, int repetition, FillerArm& arm, JobTimes& times) {
    for (int round = 0; round < kind.rounds; ++round) {
      const uint64_t seed = static_cast<uint64_t>(repetition + 1) * kind.rounds + round;
      const int first = kind.num_items * round % (slots_.count() - kind.num_items + 1);
      const std::vector<FillItem> items = slots_.Items(first, kind.num_items, seed);
      RETURN_IF_ERROR(RunOnce(files_, items, arm.filler(), times));
      if (options_.verify && repetition >= 0) RETURN_IF_ERROR(arm.Check(items));
    }
    return absl::OkStatus();
  }

  Measurement Report(const JobKind& kind, const FillerArm& arm, JobTimes times,
                     const std::vector<Measurement>& earlier) const {
    Measurement result{.experiment = absl::StrCat(kind.name, " (", kind.num_items, ")"),
                       .arm = std::string(arm.name())};
    const Distribution total = Summarize(std::move(times.total_ms));
    const Distribution rate = Summarize(std::move(times.gb_per_s));
    result.figures = {{"total_ms", total},
                      {"gb_per_s", rate},
                      {"ordering_thread_us", Summarize(std::move(times.order_us))},
                      {"issue_us_per_copy", Summarize(std::move(times.issue_us_per_copy))}};
    NoteShareOfLink(rate.median, bench_.link_gb_per_s, result);
    if (!earlier.empty()) {
      result.notes.push_back(
          {"times_faster_than_reference", earlier[0].figures[0].value.median / total.median});
    }
    if (options_.verify) {
      result.notes.push_back({"slots_verified", static_cast<double>(kind.num_items) * kind.rounds *
                                                    bench_.effort.repetitions});
    }
    result.remark = arm.Describe();
    return result;
  }

  const Bench& bench_;
  const ExpertFiles& files_;
  const Slots& slots_;
  const JobOptions options_;
};

// 1, 2, 4 ... and the most.
std::vector<int> ReaderCounts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> MeasureJobs(const Bench& bench,
                                                     const JobOptions& options) {
  const ExpertFiles files(bench.file, bench.layout);
  // The default way is made first: what it pins must not be short of what a user would get.
  std::vector<std::unique_ptr<FillerArm>> arms(3);
  for (Way way : {Way::kDefault, Way::kStages, Way::kReference}) {
    ASSIGN_OR_RETURN(
        arms[static_cast<size_t>(way)],
        FillerArm::Create({.way = way, .num_readers = bench.effort.num_readers}, bench, files));
  }
  ASSIGN_OR_RETURN(const Slots slots, Slots::Create(bench, files));
  const auto at_most = [&](int wanted) { return std::min(wanted, slots.count()); };
  const JobKind kinds[] = {{"cache fill", slots.count(), 1},
                           {"refill of lent slots", at_most(bench.effort.refill_slots), 4},
                           {"swap round", at_most(bench.effort.swaps), 20},
                           {"one blob", 1, 100}};
  JobRunner runner(bench, files, slots, options);
  std::vector<Measurement> results;
  for (const JobKind& kind : kinds) {
    ASSIGN_OR_RETURN(const std::vector<Measurement> measured, runner.Run(kind, arms));
    results.insert(results.end(), measured.begin(), measured.end());
  }
  return results;
}

absl::StatusOr<std::vector<Measurement>> MeasureReaders(const Bench& bench) {
  const ExpertFiles files(bench.file, bench.layout);
  ASSIGN_OR_RETURN(const Slots slots, Slots::Create(bench, files));
  JobRunner runner(bench, files, slots, {});
  const JobKind kind{"staged fill", std::min(slots.count(), bench.effort.queued_copies), 1};
  std::vector<Measurement> results;
  for (int readers : ReaderCounts(bench.effort.num_readers)) {
    for (BlobReader::Path path : {BlobReader::Path::kMapping, BlobReader::Path::kRead}) {
      std::vector<std::unique_ptr<FillerArm>> arms(1);
      ASSIGN_OR_RETURN(
          arms[0], FillerArm::Create({.way = Way::kStages, .num_readers = readers, .path = path},
                                     bench, files));
      ASSIGN_OR_RETURN(std::vector<Measurement> measured, runner.Run(kind, arms));
      measured[0].arm = absl::StrCat(
          readers, readers == 1 ? " reader, " : " readers, ",
          path == BlobReader::Path::kMapping ? "from the mapping" : "by read requests");
      results.push_back(std::move(measured[0]));
    }
  }
  return results;
}

}  // namespace strata::stagebench
