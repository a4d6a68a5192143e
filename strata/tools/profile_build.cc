// Makes expert profiles and shows them: see kUsage.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gflags/gflags.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/atomic_file.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/output_files.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_command.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/loading/text_model.h"
#include "strata/tools/model_view.h"
#include "strata/tools/profile_builder.h"
#include "strata/tools/profile_screen.h"
#include "strata/tools/profile_texts.h"
#include "strata/tools/report_page.h"
#include "strata/tools/simulate_command.h"
#include "strata/tools/trace_text.h"

DEFINE_string(out, "",
              "The profile, or the page, to write. `build` keeps what is done so far in "
              "OUT.partial.");
DEFINE_bool(json, false, "Print one JSON object instead of text: the profile's figures.");

DEFINE_string(model, "", "GGUF file of the model; for a split model any of its files.");
DEFINE_string(prompts, "", "A file of prompts; each line that is not empty is a text of its own.");
DEFINE_string(shard, "1/1",
              "i/n takes every n-th text, from the i-th on. The profiles of 1/n to n/n, "
              "merged, are that of all texts.");
DEFINE_int64(max_tokens, 0, "Tokens of each text, at most. Default: all.");
DEFINE_int64(max_context, 4096,
             "Tokens of a context, at most; longer texts are cut. 0: what the model allows.");
DEFINE_int32(prompt_batch, 64, "Tokens computed at once.");
DEFINE_int32(threads, 0,
             "Threads that compute. Default: one for each CPU that this process may use.");
DEFINE_int32(save_every, 30,
             "Seconds between notes of what is done so far; 0: after every context.");

DEFINE_string(trace, "",
              "Routing traces, separated by commas; or name them as arguments. "
              "They are played one after the other.");
DEFINE_string(profile, "", "The profile that slots and policies start from.");
DEFINE_string(sizes, "10%,25%,50%", "Cache sizes, separated by commas: slots, shares or bytes.");
DEFINE_string(policies, "static,lru,lfu,adaptive,rounds,s3fifo,learned,belady",
              "Policies to compare; belady is the optimum.");
DEFINE_string(machine, "", "What `stagebench --json` printed on the machine in question.");
DEFINE_double(link_gbps, 0,
              "Instead of --machine: GB/s from host memory to the GPU. Default: unset.");
DEFINE_double(device_gbps, 0, "GB/s of GPU memory. Default: 900.");
DEFINE_string(start, "",
              "What the slots hold at first: profile or empty. Default: profile "
              "if there is one.");
DEFINE_string(admission, "every-miss",
              "How experts come into slots: every-miss, landing or copies.");
DEFINE_double(offered, 2, "With landing, slots that are offered, in percent.");
DEFINE_int32(window, 1, "Tokens that a step computes at once, 1 to 8.");
DEFINE_string(cache, "25%", "report: the cache size that is chosen, or thought of.");
DEFINE_bool(
    record, false,
    "simulate: instead, count each trace again from the tier's own record, and predict it.");

DEFINE_validator(window, [](const char*, int32_t value) { return value >= 1 && value <= 8; });
DEFINE_validator(prompt_batch, &strata::IsPositive);
DEFINE_validator(threads, &strata::IsNotNegative);
DEFINE_validator(save_every, &strata::IsNotNegative);

namespace strata {
namespace {

constexpr char kUsage[] =
    "profile_build build --model FILE --out FILE [TEXT...] [--prompts FILE]\n"
    "       profile_build from-trace --out FILE TRACE...\n"
    "       profile_build merge --out FILE PROFILE...\n"
    "       profile_build show PROFILE\n"
    "       profile_build show-trace TRACE\n"
    "       profile_build simulate [--profile FILE] [--sizes 10%,4GiB] [--machine FILE] TRACE...\n"
    "       profile_build report --out FILE.html [--profile FILE] [--cache SIZE] TRACE...\n"
    "\n"
    "Counts how often each expert of a model is used: by running texts through it, from traces of\n"
    "generate, or by adding up profiles. A build that was killed goes on where it was when it is\n"
    "started again. simulate replays traces through the engine's policies and says what caches of\n"
    "several sizes would have done; report draws it.";

using Arguments = std::vector<std::string>;

bool IsGiven(const std::string& flag) {
  return !gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default;
}

std::string CheckpointPath() { return absl::StrCat(FLAGS_out, ".partial"); }

absl::Status CheckOut(const Arguments& inputs) {
  if (FLAGS_out.empty()) return UsageError("--out names the file to write; it is missing");
  if (FLAGS_out == "-") {
    return UsageError(
        "--out names a file, and stdout is none: a file that is not whole must not "
        "look like one");
  }
  std::vector<NamedFile> read;
  for (const std::string& input : inputs) read.push_back({"an input", input});
  return CheckOutputs({{"--out", FLAGS_out}}, read);
}

// Before a long run, of whose end it would be a pity. A device or a pipe is not touched.
absl::Status CheckCanBeWritten(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_status file = std::filesystem::status(path, unknown);
  if (std::filesystem::is_other(file)) return absl::OkStatus();
  return AtomicFile::Create(path).status();
}

// What `build` writes: the profile, and beside it what is done so far.
absl::Status CheckOutOfBuild(const Arguments& inputs) {
  RETURN_IF_ERROR(CheckOut(inputs));
  std::vector<NamedFile> read;
  for (const std::string& input : inputs) read.push_back({"an input", input});
  RETURN_IF_ERROR(CheckOutputs({{"--out with .partial", CheckpointPath()}}, read));
  return CheckCanBeWritten(FLAGS_out);
}

absl::Status SaveAndReport(const ExpertProfile& profile) {
  RETURN_IF_ERROR(SaveProfile(profile, FLAGS_out));
  if (FLAGS_json) {
    PrintJson(ProfileJson(profile));
  } else {
    std::cout << FLAGS_out << ": " << profile.num_tokens() << " tokens, " << profile.num_entries()
              << " routed entries, " << profile.sources().size() << " sources\n";
  }
  return absl::OkStatus();
}

// Before the model is read into memory, which takes a while.
absl::StatusOr<ModelIdentity> IdentityOf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(path));
  Arguments shards;
  for (const std::unique_ptr<GgufShard>& shard : file->shards()) shards.push_back(shard->path());
  RETURN_IF_ERROR(CheckOutOfBuild(shards));
  const ModelView view = ViewModel(*file);
  if (!view.status.ok()) return WithFile(view.status, path);
  ASSIGN_OR_RETURN(ModelIdentity identity, ModelIdentity::Of(*file, view.layout.value()));
  if (!view.runs.ok()) return WithFile(view.runs, path);
  return identity;
}

absl::Status Build(const Arguments& texts) {
  if (FLAGS_model.empty()) return UsageError("--model is missing");
  if (texts.empty() && FLAGS_prompts.empty()) {
    return UsageError("name texts, or a file of prompts with --prompts");
  }
  if (FLAGS_max_tokens < 0 || FLAGS_max_context < 0) {
    return UsageError("--max_tokens and --max_context must not be negative");
  }
  ASSIGN_OR_RETURN(const int num_threads, ThreadCount(FLAGS_threads));
  Arguments inputs = texts;
  inputs.insert(inputs.end(), {FLAGS_model, FLAGS_prompts});
  RETURN_IF_ERROR(CheckOutOfBuild(inputs));
  ASSIGN_OR_RETURN(const ProfileShard shard, ProfileShard::Parse(FLAGS_shard));
  ASSIGN_OR_RETURN(const std::vector<ProfileText> of_shard,
                   ReadProfileTexts(texts, FLAGS_prompts, shard));
  ASSIGN_OR_RETURN(const ModelIdentity identity, IdentityOf(FLAGS_model));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextModel> model,
                   TextModel::Open(FLAGS_model, {.engine = {.num_threads = num_threads},
                                                 .places_experts = false}));
  ProfileBuilder builder(*model, identity,
                         {.prompt_batch = FLAGS_prompt_batch,
                          .max_context = FLAGS_max_context,
                          .max_tokens = FLAGS_max_tokens,
                          .checkpoint_path = CheckpointPath(),
                          .checkpoint_period = std::chrono::seconds(FLAGS_save_every)});
  ASSIGN_OR_RETURN(const ExpertProfile profile, builder.Build(of_shard));
  RETURN_IF_ERROR(SaveAndReport(profile));
  std::error_code unimportant;
  std::filesystem::remove(CheckpointPath(), unimportant);
  return absl::OkStatus();
}

absl::StatusOr<ExpertProfile> CountTrace(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<RoutingTraceReader> reader,
                   RoutingTraceReader::Open(path));
  ExpertProfile profile(reader->header().identity);
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<TraceRecord> record, reader->Next());
    if (!record.has_value()) break;
    if (const auto* step = std::get_if<RoutedStep>(&*record)) profile.Count(*step);
  }
  profile.AddSource(SourceLabel(path, file->bytes()));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return profile;
}

// The profiles that `load` makes of the files, in one.
template <typename Load>
absl::StatusOr<ExpertProfile> MergeAll(const Arguments& paths, Load load) {
  if (paths.empty()) return UsageError("name at least one file to read");
  std::optional<ExpertProfile> all;
  for (const std::string& path : paths) {
    absl::StatusOr<ExpertProfile> profile = load(path);
    RETURN_IF_ERROR(profile.status());
    if (!all.has_value()) {
      all = *std::move(profile);
    } else if (const absl::Status status = all->Merge(*profile); !status.ok()) {
      return WithFile(status, path);
    }
  }
  return *std::move(all);
}

absl::Status FromTrace(const Arguments& traces) {
  RETURN_IF_ERROR(CheckOut(traces));
  ASSIGN_OR_RETURN(const ExpertProfile profile, MergeAll(traces, CountTrace));
  return SaveAndReport(profile);
}

// Into one of them, too.
absl::Status Merge(const Arguments& profiles) {
  RETURN_IF_ERROR(CheckOut({}));
  ASSIGN_OR_RETURN(const ExpertProfile profile, MergeAll(profiles, LoadProfile));
  return SaveAndReport(profile);
}

absl::Status Show(const Arguments& paths) {
  if (paths.size() != 1) return UsageError("name one profile");
  ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfile(paths[0]));
  if (FLAGS_json) {
    PrintJson(ProfileJson(profile));
  } else {
    std::cout << ProfileScreen(profile);
  }
  return absl::OkStatus();
}

absl::Status ShowTrace(const Arguments& paths) {
  if (paths.size() != 1) return UsageError("name one trace");
  ASSIGN_OR_RETURN(const std::unique_ptr<RoutingTraceReader> reader,
                   RoutingTraceReader::Open(paths[0]));
  std::cout << TraceHeaderText(reader->header());
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<TraceRecord> record, reader->Next());
    if (!record.has_value()) return absl::OkStatus();
    std::cout << TraceRecordText(reader->geometry(), *record);
  }
}

SimulateFlags SimulateFlagsOf(const Arguments& traces) {
  SimulateFlags flags = {.traces = traces,
                         .profile = FLAGS_profile,
                         .sizes = FLAGS_sizes,
                         .policies = FLAGS_policies,
                         .machine = FLAGS_machine,
                         .start = FLAGS_start,
                         .admission = FLAGS_admission,
                         .offered = FLAGS_offered,
                         .window = FLAGS_window,
                         .link_gbps = FLAGS_link_gbps,
                         .device_gbps = FLAGS_device_gbps};
  for (const absl::string_view trace : absl::StrSplit(FLAGS_trace, ',', absl::SkipEmpty())) {
    flags.traces.emplace_back(trace);
  }
  return flags;
}

absl::Status SimulateRecords(const Arguments& traces) {
  if (traces.empty()) return UsageError("name at least one trace");
  Json runs = Json::array();
  for (const std::string& trace : traces) {
    ASSIGN_OR_RETURN(const ReplayedRun run, ReplayRecord(trace));
    runs.push_back(run.json);
    if (!FLAGS_json) std::cout << run.line;
  }
  if (FLAGS_json) PrintJson({{"runs", runs}});
  return absl::OkStatus();
}

absl::Status RunSimulate(const Arguments& traces) {
  const SimulateFlags flags = SimulateFlagsOf(traces);
  if (FLAGS_record) return SimulateRecords(flags.traces);
  ASSIGN_OR_RETURN(const Simulation simulation, Simulate(flags));
  if (FLAGS_json) {
    PrintJson(SimulationJson(simulation));
  } else {
    std::cout << SimulationScreen(simulation);
  }
  return absl::OkStatus();
}

// Sizes that make a curve, the chosen one among them.
std::string ReportSizes() {
  constexpr char kCurve[] = "2%,5%,10%,15%,20%,25%,30%,40%,50%,60%,75%,90%";
  const std::string sizes = IsGiven("sizes") ? FLAGS_sizes : kCurve;
  const std::vector<std::string> names = absl::StrSplit(sizes, ',');
  const bool has_chosen = std::find(names.begin(), names.end(), FLAGS_cache) != names.end();
  return has_chosen ? sizes : absl::StrCat(sizes, ",", FLAGS_cache);
}

absl::Status Report(const Arguments& traces) {
  SimulateFlags flags = SimulateFlagsOf(traces);
  flags.sizes = ReportSizes();
  Arguments inputs = flags.traces;
  inputs.insert(inputs.end(), {FLAGS_profile, FLAGS_machine});
  RETURN_IF_ERROR(CheckOut(inputs));
  ASSIGN_OR_RETURN(Simulation simulation, Simulate(flags));
  simulation.SortBySize();
  const std::vector<std::string>& names = simulation.size_names;
  const size_t chosen = std::find(names.begin(), names.end(), FLAGS_cache) - names.begin();
  const std::vector<int64_t> used = simulation.log.Counts();
  std::vector<uint64_t> counts(used.begin(), used.end());
  if (!FLAGS_profile.empty()) {
    ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfile(FLAGS_profile));
    counts = profile.counts();
  }
  const std::string page = ReportPage(simulation, chosen, counts);
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(FLAGS_out));
  RETURN_IF_ERROR(file.Append(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(page.data()), page.size())));
  RETURN_IF_ERROR(file.Commit());
  std::cout << FLAGS_out << ": " << Advice(simulation, chosen) << "\n";
  return absl::OkStatus();
}

const std::vector<ToolCommand>& Commands() {
  static const auto* const commands = new std::vector<ToolCommand>{
      {"build",
       {"out", "json", "model", "prompts", "shard", "max_tokens", "max_context", "prompt_batch",
        "threads", "save_every"},
       Build},
      {"from-trace", {"out", "json"}, FromTrace},
      {"merge", {"out", "json"}, Merge},
      {"show", {"json"}, Show},
      {"show-trace", {}, ShowTrace},
      {"simulate",
       {"json", "trace", "profile", "sizes", "policies", "machine", "start", "admission", "offered",
        "window", "link_gbps", "device_gbps", "record"},
       RunSimulate},
      {"report",
       {"out", "trace", "profile", "sizes", "policies", "machine", "start", "admission", "offered",
        "window", "link_gbps", "device_gbps", "cache"},
       Report},
  };
  return *commands;
}

absl::Status Run(const Arguments& arguments) { return RunCommand(Commands(), arguments); }

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage = strata::kUsage,
       .json = &FLAGS_json,
       .groups = {{.title = "build",
                   .flags = {"model FILE", "prompts FILE", "max_tokens", "max_context", "threads"},
                   .rare = {"shard I/N", "prompt_batch", "save_every"}},
                  {.title = "simulate and report",
                   .flags = {"profile FILE", "sizes LIST", "machine FILE", "policies LIST",
                             "cache SIZE"},
                   .rare = {"trace FILES", "link_gbps X", "device_gbps X", "start NAME",
                            "admission NAME", "offered X", "window", "record"}},
                  {.title = "Output", .flags = {"out FILE", "json"}}}},
      strata::Run, argc, argv);
}
