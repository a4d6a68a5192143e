#include "strata/tools/stage_experiments/pack_experiments.h"

#include <fcntl.h>
#include <unistd.h>

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
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/file_mapping.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/fill_job.h"
#include "strata/tools/stage_experiments/filler_arm.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {
namespace {

using Way = FillerArm::Way;

constexpr int kColdRepetitions = 3;

// Drops the files from the system's memory, as far as nobody else holds them there.
void MakeCold(const ExpertFiles& files) {
  for (const FileMapping* shard : files.shards()) {
    fdatasync(shard->fd());
    shard->DropPages(0, shard->size());
    posix_fadvise(shard->fd(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

// Brings all of the files into memory.
void MakeWarm(const ExpertFiles& files) {
  constexpr size_t kPageBytes = 4096;
  for (const FileMapping* shard : files.shards()) {
    volatile const std::byte* const bytes = shard->bytes().data();
    for (size_t at = 0; at < shard->bytes().size(); at += kPageBytes) static_cast<void>(bytes[at]);
  }
}

struct Arm {
  std::string name;
  const ExpertFiles& files;
  std::unique_ptr<FillerArm> filler;
  FillTimes times = {};
};

absl::Status RunArm(const FillSlots& slots, bool cold, bool verify, uint64_t seed, Arm& arm,
                    FillTimes& times) {
  // The same experts for each arm.
  const std::vector<FillItem> items = slots.Items(0, slots.count(), seed);
  if (cold) MakeCold(arm.files);
  RETURN_IF_ERROR(RunFill(arm.files, items, arm.filler->filler(), times));
  return verify ? arm.filler->Check(items) : absl::OkStatus();
}

absl::StatusOr<std::vector<Measurement>> MeasureArms(const Bench& bench, absl::string_view name,
                                                     bool cold, bool verify, const FillSlots& slots,
                                                     std::vector<Arm> arms) {
  const int repetitions =
      cold ? std::min(kColdRepetitions, bench.effort.repetitions) : bench.effort.repetitions;
  for (int repetition = cold ? 0 : -1; repetition < repetitions; ++repetition) {
    for (Arm& arm : arms) {
      FillTimes warm_up;
      RETURN_IF_ERROR(RunArm(slots, cold, verify, static_cast<uint64_t>(repetition + 1), arm,
                             repetition < 0 ? warm_up : arm.times));
    }
  }
  std::vector<Measurement> results;
  for (Arm& arm : arms) {
    Measurement result = {.experiment = absl::StrCat(name, " (", slots.count(), ")"),
                          .arm = arm.name};
    const Distribution total = Summarize(std::move(arm.times.total_ms));
    const Distribution rate = Summarize(std::move(arm.times.gb_per_s));
    result.figures = {{"total_ms", total},
                      {"gb_per_s", rate},
                      {"issue_us_per_copy", Summarize(std::move(arm.times.issue_us_per_copy))}};
    NoteShareOfLink(rate.median, bench.link_gb_per_s, result);
    const bool is_of_pack = results.size() % 2 == 1;
    if (is_of_pack) {
      result.notes.push_back(
          {"times_faster_than_slices", results.back().figures[0].value.median / total.median});
    }
    result.remark = arm.filler->Describe();
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> MeasurePack(const Bench& bench, bool verify) {
  if (bench.pack == nullptr) return std::vector<Measurement>();
  const ExpertFiles slices(bench.file, bench.layout);
  ASSIGN_OR_RETURN(const FillSlots slots, FillSlots::Create(bench, slices));
  const auto add = [&](Way way, absl::string_view name, std::vector<Arm>& arms) -> absl::Status {
    for (const ExpertFiles* files : {&slices, bench.pack}) {
      ASSIGN_OR_RETURN(
          std::unique_ptr<FillerArm> filler,
          FillerArm::Create({.way = way, .num_readers = bench.effort.num_readers}, bench, *files));
      arms.push_back({.name = absl::StrCat(files == &slices ? "slices" : "experts.bin", name),
                      .files = *files,
                      .filler = std::move(filler)});
    }
    return absl::OkStatus();
  };
  // From the disk first: what is pinned in place does not leave memory.
  std::vector<Arm> cold, warm;
  RETURN_IF_ERROR(add(Way::kStages, ", stages", cold));
  ASSIGN_OR_RETURN(
      std::vector<Measurement> results,
      MeasureArms(bench, "fill from disk", /*cold=*/true, verify, slots, std::move(cold)));
  MakeWarm(slices);
  MakeWarm(*bench.pack);
  RETURN_IF_ERROR(add(Way::kStages, ", stages", warm));
  RETURN_IF_ERROR(add(Way::kDefault, ", default", warm));
  ASSIGN_OR_RETURN(
      const std::vector<Measurement> of_memory,
      MeasureArms(bench, "fill from memory", /*cold=*/false, verify, slots, std::move(warm)));
  results.insert(results.end(), of_memory.begin(), of_memory.end());
  return results;
}

}  // namespace strata::stagebench
