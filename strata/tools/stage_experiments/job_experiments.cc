#include "strata/tools/stage_experiments/job_experiments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/fill_job.h"
#include "strata/tools/stage_experiments/filler_arm.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {
namespace {

using Way = FillerArm::Way;

struct JobKind {
  absl::string_view name;
  int num_items;
  int rounds;  // Runs in each repetition, on other experts each time.
};

class JobRunner {
 public:
  JobRunner(const Bench& bench, const ExpertFiles& files, const FillSlots& slots,
            const JobOptions& options)
      : bench_(bench), files_(files), slots_(slots), options_(options) {}

  absl::StatusOr<std::vector<Measurement>> Run(const JobKind& kind,
                                               absl::Span<const std::unique_ptr<FillerArm>> arms) {
    std::vector<FillTimes> times(arms.size());
    for (int repetition = -1; repetition < bench_.effort.repetitions; ++repetition) {
      for (size_t i = 0; i < arms.size(); ++i) {
        FillTimes warm_up;
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
  absl::Status RunRounds(const JobKind& kind, int repetition, FillerArm& arm, FillTimes& times) {
    for (int round = 0; round < kind.rounds; ++round) {
      const uint64_t seed = static_cast<uint64_t>(repetition + 1) * kind.rounds + round;
      const int first = kind.num_items * round % (slots_.count() - kind.num_items + 1);
      const std::vector<FillItem> items = slots_.Items(first, kind.num_items, seed);
      RETURN_IF_ERROR(RunFill(files_, items, arm.filler(), times));
      if (options_.verify && repetition >= 0) RETURN_IF_ERROR(arm.Check(items));
    }
    return absl::OkStatus();
  }

  Measurement Report(const JobKind& kind, const FillerArm& arm, FillTimes times,
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
  const FillSlots& slots_;
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
  const ExpertFiles files = ExpertsOf(bench);
  // The default way is made first: what it pins must not be short of what a user would get.
  std::vector<std::unique_ptr<FillerArm>> arms(3);
  for (Way way : {Way::kDefault, Way::kStages, Way::kReference}) {
    ASSIGN_OR_RETURN(
        arms[static_cast<size_t>(way)],
        FillerArm::Create({.way = way, .num_readers = bench.effort.num_readers}, bench, files));
  }
  ASSIGN_OR_RETURN(const FillSlots slots, FillSlots::Create(bench, files));
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
  const ExpertFiles files = ExpertsOf(bench);
  ASSIGN_OR_RETURN(const FillSlots slots, FillSlots::Create(bench, files));
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
