#include "strata/tools/stage_experiments/experiments.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/copy_experiments.h"
#include "strata/tools/stage_experiments/job_experiments.h"
#include "strata/tools/stage_experiments/kernel_reads.h"
#include "strata/tools/stage_experiments/measurement.h"
#include "strata/tools/stage_experiments/pack_experiments.h"
#include "strata/tools/stage_experiments/pinning_experiments.h"
#include "strata/tools/stage_experiments/queued_copies.h"

namespace strata::stagebench {
namespace {

struct Experiment {
  absl::string_view name;
  absl::string_view title;
  absl::StatusOr<std::vector<Measurement>> (*run)(const Bench& bench, bool verify);
};

const Experiment kExperiments[] = {
    {"copies", "single copies",
     [](const Bench& bench, bool) { return MeasureSingleCopies(bench); }},
    // Before anything pins the files.
    {"pack", "fills from a pack and from slices",
     [](const Bench& bench, bool verify) { return MeasurePack(bench, verify); }},
    {"pinning", "pinning", [](const Bench& bench, bool) { return MeasurePinning(bench); }},
    {"queued", "queued copies",
     [](const Bench& bench, bool) { return MeasureQueuedCopies(bench); }},
    {"kernels", "kernels that read host memory",
     [](const Bench& bench, bool) { return MeasureKernelReads(bench); }},
    {"readers", "staged fills by number of readers",
     [](const Bench& bench, bool) { return MeasureReaders(bench); }},
    {"jobs", "the jobs of an engine",
     [](const Bench& bench, bool verify) { return MeasureJobs(bench, {.verify = verify}); }},
};

bool Contains(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string AllExperiments() {
  return absl::StrJoin(kExperiments, ",", [](std::string* out, const Experiment& experiment) {
    absl::StrAppend(out, experiment.name);
  });
}

absl::StatusOr<std::vector<std::string>> ParseExperiments(absl::string_view list) {
  const std::vector<std::string> known = absl::StrSplit(AllExperiments(), ',');
  std::vector<std::string> names = absl::StrSplit(list, ',', absl::SkipWhitespace());
  for (std::string& name : names) {
    absl::StripAsciiWhitespace(&name);
    if (!Contains(known, name)) {
      return UsageError(
          absl::StrCat("--arms=", list, ": '", name, "' is none of ", AllExperiments()));
    }
  }
  if (names.empty()) return UsageError(absl::StrCat("--arms names none of ", AllExperiments()));
  return names;
}

absl::StatusOr<std::vector<Measurement>> RunExperiments(const std::vector<std::string>& names,
                                                        bool verify, Bench bench) {
  Note("measuring the link");
  ASSIGN_OR_RETURN(const LinkProbe link, ProbeLink(bench));
  bench.link_gb_per_s = link.gb_per_s;
  std::vector<Measurement> results = link.measurements;
  for (const Experiment& experiment : kExperiments) {
    if (!Contains(names, std::string(experiment.name))) continue;
    Note(absl::StrCat("measuring ", experiment.title));
    ASSIGN_OR_RETURN(const std::vector<Measurement> measured, experiment.run(bench, verify));
    results.insert(results.end(), measured.begin(), measured.end());
  }
  return results;
}

}  // namespace strata::stagebench
