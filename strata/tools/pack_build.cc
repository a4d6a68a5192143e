// Builds a pack of a model: see kUsage.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gflags/gflags.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack_builder.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/output_files.h"
#include "strata/core/cli/progress.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

DEFINE_string(out, "", "The folder of the pack; it is made if it is not there.");
DEFINE_bool(layout, false,
            "Write the experts as well (experts.bin), each in one piece at a multiple of 4 KiB: it "
            "takes as much disk as they do.");
DEFINE_string(profile, "",
              "With --layout: a profile of the model (profile_build); the hottest experts come "
              "first. Default: by layer.");
DEFINE_int32(threads, 0, "Threads that read and hash; 0: one for each CPU, eight at most.");
DEFINE_int32(save_every, 5,
             "Seconds between notes of what is done so far; 0: after every layer and tensor.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");

DEFINE_validator(threads, &strata::IsNotNegative);
DEFINE_validator(save_every, &strata::IsNotNegative);

namespace strata {
namespace {

constexpr char kUsage[] =
    "pack_build MODEL --out DIR [--layout [--profile FILE]]\n"
    "Writes down what every byte of a model is, so that pack_verify can prove it later, and with\n"
    "--layout lays the experts out so that one read brings one. A build that was killed goes on\n"
    "where it was when it is started again.";

constexpr char kToolName[] = "pack_build of Strata, manifest version 1";

// One thread reads as fast as a disk; more than a few wait for memory.
constexpr int kMostThreads = 8;

std::string Quoted(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// From whatever folder it is given again.
std::string ResumeCommand(const std::string& model) {
  const auto path = [](const std::string& name) {
    return Quoted(std::filesystem::absolute(name).string());
  };
  std::string command = absl::StrCat("pack_build ", path(model), " --out ", path(FLAGS_out));
  if (FLAGS_layout) absl::StrAppend(&command, " --layout");
  if (!FLAGS_profile.empty()) absl::StrAppend(&command, " --profile ", path(FLAGS_profile));
  return command;
}

absl::Status CheckWrittenFiles(const GgufFile& file) {
  const PackFolder folder(FLAGS_out);
  std::vector<NamedFile> read = {{"--profile", FLAGS_profile}};
  for (const auto& shard : file.shards()) read.push_back({"a file of the model", shard->path()});
  return CheckOutputs({{"the manifest in --out", folder.manifest()},
                       {"the experts in --out", folder.experts()},
                       {"what is done so far, in --out,", folder.checkpoint()},
                       {"unfinished experts in --out", folder.partial_experts()}},
                      read);
}

// Numbers of all experts in the order of the layout.
absl::StatusOr<std::vector<int>> OrderOfExperts(const ModelIdentity& identity) {
  if (FLAGS_profile.empty()) {
    std::vector<int> order(static_cast<size_t>(identity.geometry.size()));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfileOf(identity, FLAGS_profile));
  return SlotPlan::CompleteRanking(identity.geometry, profile.Rank());
}

void PrintResult(const PackManifest& manifest, int64_t bytes_read, double seconds) {
  int64_t bytes = 0;
  for (const PackManifest::Shard& shard : manifest.shards) bytes += shard.bytes;
  const int64_t experts_bytes = manifest.layout.has_value() ? manifest.layout->bytes : 0;
  const double gb_per_s = seconds > 0 ? static_cast<double>(bytes_read) / 1e9 / seconds : 0;
  if (FLAGS_json) {
    PrintJson({{"pack", FLAGS_out},
               {"model", manifest.model},
               {"shards", manifest.shards.size()},
               {"tensors", manifest.tensors.size()},
               {"experts", manifest.num_all_experts()},
               {"model_bytes", bytes},
               {"experts_bin_bytes", experts_bytes},
               {"bytes_read", bytes_read},
               {"seconds", seconds},
               {"gb_per_s", gb_per_s}});
    return;
  }
  std::cout << FLAGS_out << ": " << manifest.shards.size() << " shards of " << FormatByteSize(bytes)
            << ", " << manifest.tensors.size() << " tensors, " << manifest.num_all_experts()
            << " experts";
  if (experts_bytes > 0) std::cout << "; experts.bin of " << FormatByteSize(experts_bytes);
  std::cout << "; " << FormatByteSize(bytes_read) << " read in " << seconds << " s\n";
}

absl::Status BuildPack(const GgufFile& file, const ExpertLayout& layout, int num_threads) {
  ASSIGN_OR_RETURN(const ModelIdentity identity, ModelIdentity::Of(file, layout));
  PackBuilder::Options options = {.folder = FLAGS_out,
                                  .writes_experts = FLAGS_layout,
                                  .order = FLAGS_profile.empty() ? "layer" : "profile",
                                  .tool = kToolName,
                                  .resume = ResumeCommand(file.path()),
                                  .num_threads = num_threads,
                                  .checkpoint_period = std::chrono::seconds(FLAGS_save_every)};
  ASSIGN_OR_RETURN(options.order_of_experts, OrderOfExperts(identity));
  std::unique_ptr<Progress> progress;
  options.progress = [&progress](int64_t bytes) { progress->Add(bytes); };
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const std::unique_ptr<PackBuilder> builder,
                   PackBuilder::Create(file, layout, identity, std::move(options)));
  const int64_t to_read = builder->num_bytes() - builder->num_bytes_done();
  if (builder->num_bytes_done() > 0) {
    std::cerr << "pack_build: going on, " << FormatByteSize(builder->num_bytes_done())
              << " are done" << std::endl;
  }
  progress = std::make_unique<Progress>(
      Progress::Options{.label = "reading", .total = to_read, .unit = Progress::Unit::kBytes});
  RETURN_IF_ERROR(builder->Build());
  progress.reset();
  PrintResult(builder->manifest(), to_read, static_cast<double>(stopwatch.ns()) / 1e9);
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) return UsageError("name one GGUF file; --help lists the flags");
  if (FLAGS_out.empty()) return UsageError("--out names the folder of the pack; it is missing");
  if (!FLAGS_profile.empty() && !FLAGS_layout) return UsageError("--profile goes with --layout");
  ASSIGN_OR_RETURN(int num_threads, ThreadCount(FLAGS_threads));
  if (FLAGS_threads == 0) num_threads = std::min(num_threads, kMostThreads);
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(arguments[0]));
  RETURN_IF_ERROR(CheckWrittenFiles(*file));
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(*file);
  if (!config.ok()) return WithFile(config.status(), arguments[0]);
  const absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(*file, *config);
  if (!layout.ok()) return WithFile(layout.status(), arguments[0]);
  return BuildPack(*file, *layout, num_threads);
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = strata::kUsage,
                           .json = &FLAGS_json,
                           .groups = {{.title = "The pack",
                                       .flags = {"out DIR", "layout", "profile FILE"},
                                       .rare = {"threads", "save_every"}},
                                      {.title = "Output", .flags = {"json"}}}},
                          strata::Run, argc, argv);
}
