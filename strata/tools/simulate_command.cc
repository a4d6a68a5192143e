#include "strata/tools/simulate_command.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/simulate/cache_replay.h"
#include "strata/cache/simulate/comparison.h"
#include "strata/cache/simulate/policies.h"
#include "strata/cache/simulate/recorded_run.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/cache/simulate/speed_forecast.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

absl::StatusOr<AdmissionMode> ParseAdmission(absl::string_view name) {
  if (name == "every-miss") return AdmissionMode::kEveryMiss;
  if (name == "landing") return AdmissionMode::kLanding;
  if (name == "copies") return AdmissionMode::kCopies;
  return UsageError(absl::StrCat("--admission=", name, " is none of every-miss, landing, copies"));
}

absl::StatusOr<MachineRates> Machine(const SimulateFlags& flags) {
  MachineRates rates;
  if (!flags.machine.empty()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(flags.machine));
    const absl::string_view json(reinterpret_cast<const char*>(file->bytes().data()),
                                 file->bytes().size());
    absl::StatusOr<MachineRates> read = MachineRates::FromStagebench(json, rates);
    if (!read.ok()) return WithFile(read.status(), flags.machine);
    rates = *std::move(read);
  }
  if (flags.link_gbps > 0) rates.link = flags.link_gbps;
  if (flags.device_gbps > 0) rates.device_memory = flags.device_gbps;
  return rates;
}

// Without a profile, every expert is as good as another.
absl::StatusOr<PolicyStart> ReadStart(const SimulateFlags& flags, const RoutingLog& log) {
  if (flags.profile.empty()) return PolicyStart();
  ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfile(flags.profile));
  if (profile.geometry() != log.geometry()) {
    return InputError("profile_mismatch", flags.profile,
                      absl::StrCat("the profile is of ", profile.geometry().Describe(),
                                   ", the traces are of ", log.geometry().Describe()));
  }
  return StartFrom(profile);
}

absl::StatusOr<ComparisonOptions> ReadOptions(const SimulateFlags& flags) {
  ComparisonOptions options;
  options.policies = absl::StrSplit(flags.policies, ',');
  RETURN_IF_ERROR(CheckPolicies(options.policies));
  ASSIGN_OR_RETURN(options.replay.mode, ParseAdmission(flags.admission));
  if (!(flags.offered >= 0 && flags.offered <= 100)) {
    return UsageError("--offered is a share of the slots in percent, from 0 to 100");
  }
  options.replay.offered_share = flags.offered / 100;
  ASSIGN_OR_RETURN(options.machine, Machine(flags));
  // Misses and copies share the link.
  options.settings.rates = {.copy_bytes_per_ns = options.machine.link,
                            .miss_ns_per_byte = 1 / options.machine.link};
  if (flags.start.empty()) {
    options.starts_filled = !flags.profile.empty();
  } else if (flags.start != "profile" && flags.start != "empty") {
    return UsageError(absl::StrCat("--start=", flags.start, " is neither profile nor empty"));
  } else {
    options.starts_filled = flags.start == "profile";
  }
  return options;
}

Json ResultJson(const PolicyResult& result) {
  const ReplayCounts& counts = result.counts;
  return {
      {"policy", result.policy},
      {"hit_rate", counts.hit_rate()},
      {"hits", counts.hits},
      {"misses", counts.misses()},
      {"missed_uses", counts.missed_uses},
      {"times_optimum", result.times_optimum},
      {"admissions", counts.admissions},
      {"copies", counts.copies},
      {"bytes",
       {{"slot", counts.slot_bytes}, {"link", counts.link_bytes}, {"copied", counts.copy_bytes}}},
      {"tokens_per_s", result.speed.tokens_per_s},
      {"bound", std::string(result.speed.bound)},
      {"course", result.hit_rates}};
}

double PerToken(int64_t amount, const ReplayCounts& counts) {
  return counts.tokens == 0 ? 0 : static_cast<double>(amount) / static_cast<double>(counts.tokens);
}

}  // namespace

absl::StatusOr<Simulation> Simulate(const SimulateFlags& flags) {
  ASSIGN_OR_RETURN(ComparisonOptions options, ReadOptions(flags));
  std::vector<SlotBudget> budgets;
  const std::vector<std::string> names = absl::StrSplit(flags.sizes, ',');
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const SlotBudget budget, SlotBudget::Parse(name));
    budgets.push_back(budget);
  }
  ASSIGN_OR_RETURN(RoutingLog log, RoutingLog::Load(flags.traces));
  if (log.num_steps() == 0)
    return InputError("bad_record", flags.traces[0], "the trace has no step");
  if (flags.window > 1) log = log.Windowed(flags.window);
  ASSIGN_OR_RETURN(PolicyStart start, ReadStart(flags, log));
  Simulation simulation = {
      .log = std::move(log), .start = std::move(start), .options = options, .size_names = names};
  for (const SlotBudget& budget : budgets) {
    ASSIGN_OR_RETURN(SizeResult result,
                     CompareAt(simulation.log, simulation.start, budget, simulation.options));
    simulation.sizes.push_back(std::move(result));
  }
  return simulation;
}

void Simulation::SortBySize() {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a].num_slots < sizes[b].num_slots; });
  std::vector<std::string> sorted_names;
  std::vector<SizeResult> sorted;
  for (const size_t i : order) {
    sorted_names.push_back(size_names[i]);
    sorted.push_back(std::move(sizes[i]));
  }
  size_names = std::move(sorted_names);
  sizes = std::move(sorted);
}

Json SimulationJson(const Simulation& simulation) {
  const ExpertGeometry& geometry = simulation.log.geometry();
  Json sizes = Json::array();
  for (size_t i = 0; i < simulation.sizes.size(); ++i) {
    const SizeResult& size = simulation.sizes[i];
    Json policies = Json::array();
    for (const PolicyResult& result : size.policies) policies.push_back(ResultJson(result));
    sizes.push_back({{"size", simulation.size_names[i]},
                     {"slots", size.num_slots},
                     {"share", static_cast<double>(size.num_slots) / geometry.size()},
                     {"slot_bytes", size.slot_bytes},
                     {"policies", policies}});
    if (size.bound_missed_uses >= 0) sizes.back()["bound_missed_uses"] = size.bound_missed_uses;
  }
  return {{"model", geometry.Describe()},
          {"experts", geometry.size()},
          {"steps", simulation.log.num_steps()},
          {"tokens", simulation.log.total_tokens()},
          {"uses", simulation.log.num_uses()},
          {"starts_filled", simulation.options.starts_filled},
          {"machine",
           {{"name", simulation.options.machine.name},
            {"link_gbps", simulation.options.machine.link},
            {"device_gbps", simulation.options.machine.device_memory}}},
          {"sizes", sizes}};
}

std::string SimulationScreen(const Simulation& simulation) {
  std::string text =
      absl::StrCat(simulation.log.geometry().Describe(), "; ", simulation.log.total_tokens(),
                   " tokens in ", simulation.log.num_steps(), " steps; slots start ",
                   simulation.options.starts_filled ? "filled" : "empty", "; link ",
                   absl::StrFormat("%.1f GB/s\n", simulation.options.machine.link));
  TextTable table("rrllrrrrrl");
  table.AddRow({"cache", "slots", "", "policy", "hits", "x optimum", "link/token", "admissions",
                "tokens/s", "bound"});
  bool has_bounds = false;
  for (size_t i = 0; i < simulation.sizes.size(); ++i) {
    const SizeResult& size = simulation.sizes[i];
    has_bounds = has_bounds || size.bound_missed_uses >= 0;
    for (const PolicyResult& result : size.policies) {
      const ReplayCounts& counts = result.counts;
      const bool is_first = &result == &size.policies.front();
      table.AddRow(
          {is_first ? simulation.size_names[i] : "", is_first ? absl::StrCat(size.num_slots) : "",
           is_first ? FormatByteSize(size.slot_bytes) : "", result.policy,
           absl::StrFormat("%.2f %%", 100 * counts.hit_rate()),
           absl::StrFormat("%.3f", result.times_optimum),
           FormatByteSize(
               static_cast<int64_t>(PerToken(counts.link_bytes + counts.copy_bytes, counts))),
           absl::StrFormat("%.2f", PerToken(counts.admissions, counts)),
           absl::StrFormat("%.0f", result.speed.tokens_per_s), std::string(result.speed.bound)});
    }
  }
  absl::StrAppend(&text, table.ToString());
  if (has_bounds) {
    absl::StrAppend(&text,
                    "Experts are of several sizes: belady is the optimum of these slots; slots "
                    "divided otherwise could do better, see bound_missed_uses with --json.\n");
  }
  return text;
}

absl::StatusOr<ReplayedRun> ReplayRecord(const std::string& path) {
  ASSIGN_OR_RETURN(const RecordedRun run, RecordedRun::Load(path));
  ASSIGN_OR_RETURN(const ReplayCounts predicted, PredictRun(path, run));
  const ReplayCounts& counts = run.counts;
  const double difference = 100 * (predicted.hit_rate() - counts.hit_rate());
  ReplayedRun replayed = {.path = path};
  replayed.json = {{"trace", path},
                   {"slots", run.header.tier.slots.size()},
                   {"routed", counts.routed},
                   {"hits", counts.hits},
                   {"misses", counts.misses()},
                   {"bytes", {{"slot", counts.slot_bytes}, {"elsewhere", counts.link_bytes}}},
                   {"swaps", counts.copies},
                   {"swap_bytes", counts.copy_bytes},
                   {"landings",
                    {{"offered", run.offered},
                     {"landed", run.landed},
                     {"bytes", run.landed_bytes},
                     {"shown", counts.admissions - counts.copies}}},
                   {"hit_rate", counts.hit_rate()},
                   {"predicted_hit_rate", predicted.hit_rate()},
                   {"predicted_swaps", predicted.copies},
                   {"predicted_landings", predicted.admissions - predicted.copies},
                   {"difference_points", difference}};
  replayed.line = absl::StrFormat(
      "%s: %d slots, %d of %d hits (%.2f %%), %d swaps of %s, %d of %d landings kept; predicted "
      "from routing alone %.2f %%, %+.2f points, %d swaps and landings\n",
      path, run.header.tier.slots.size(), counts.hits, counts.routed, 100 * counts.hit_rate(),
      counts.copies, FormatByteSize(counts.copy_bytes), counts.admissions - counts.copies,
      run.landed, 100 * predicted.hit_rate(), difference, predicted.admissions);
  return replayed;
}

}  // namespace strata
