#include "strata/tools/plan_command.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/error_report.h"
#include "strata/core/cli/flag_help.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/footprint.h"
#include "strata/tools/machine_plan.h"
#include "strata/tools/plan_view.h"

DEFINE_string(vram, "", "GPU memory of the machine, like 12GiB.");
DEFINE_string(ram, "", "Host memory that is free, like 64GiB.");
DEFINE_int32(context, 0, "Tokens of context. Default: 4096, or what the model allows if less.");
DEFINE_string(kv, "f16", "How the context is kept: f32, f16 or int8.");
DEFINE_string(device, "auto",
              "What computes: cuda, cpu, or auto for cuda where it runs the model.");
DEFINE_int32(prompt_batch, 0,
             "Tokens of the prompt computed at once. Default: 4096 on a GPU, 128 on the CPU.");
DEFINE_string(snapshot_memory, "1GiB", "Snapshots, at most, of a memory that cannot be cut back.");
DEFINE_string(profile, "", "A profile of the model's experts (profile_build makes one).");
DEFINE_string(vram_reserve, "512MiB", "GPU memory for the driver and others.");
DEFINE_double(link_gbps, strata::Machine().link_gb_per_s, "GB/s that the link to the GPU reaches.");
DEFINE_double(dram_gbps, strata::Machine().dram_gb_per_s, "GB/s that host memory reaches.");
DEFINE_double(gpu_gbps, strata::Machine().gpu_gb_per_s, "GB/s that GPU memory reaches.");
DEFINE_double(disk_gbps, strata::Machine().disk_gb_per_s, "GB/s at which the file is read.");

DEFINE_validator(vram, &strata::IsMemorySize);
DEFINE_validator(ram, &strata::IsMemorySize);
DEFINE_validator(vram_reserve, &strata::IsMemorySize);
DEFINE_validator(context, &strata::IsNotNegative);
DEFINE_validator(prompt_batch, &strata::IsNotNegative);
DEFINE_validator(snapshot_memory, &strata::IsByteSize);

namespace strata {
namespace {

constexpr int64_t kUsualContext = 4096;

absl::StatusOr<double> Bandwidth(const char* flag, double value) {
  if (value > 0 && std::isfinite(value)) return value;
  return UsageError(absl::StrCat("--", flag, " must be above 0 and finite"));
}

absl::StatusOr<Machine> MachineFromFlags() {
  if (FLAGS_vram.empty() || FLAGS_ram.empty()) {
    return UsageError("--plan wants --vram and --ram, like --vram 12GiB --ram 64GiB");
  }
  Machine machine;
  ASSIGN_OR_RETURN(machine.vram_bytes, ParseByteSize(FLAGS_vram));
  ASSIGN_OR_RETURN(machine.ram_bytes, ParseByteSize(FLAGS_ram));
  ASSIGN_OR_RETURN(machine.vram_reserve_bytes, ParseByteSize(FLAGS_vram_reserve));
  ASSIGN_OR_RETURN(machine.link_gb_per_s, Bandwidth("link_gbps", FLAGS_link_gbps));
  ASSIGN_OR_RETURN(machine.dram_gb_per_s, Bandwidth("dram_gbps", FLAGS_dram_gbps));
  ASSIGN_OR_RETURN(machine.gpu_gb_per_s, Bandwidth("gpu_gbps", FLAGS_gpu_gbps));
  ASSIGN_OR_RETURN(machine.disk_gb_per_s, Bandwidth("disk_gbps", FLAGS_disk_gbps));
  return machine;
}

// Chooses the device, and counts the workspace of a GPU's kernels where they are chosen.
absl::StatusOr<std::optional<int64_t>> CudaWorkspace(const ModelGraph& graph,
                                                     PlanRequest& request) {
  if (FLAGS_device != "auto" && FLAGS_device != "cuda" && FLAGS_device != "cpu") {
    return UsageError(absl::StrCat("--device is ", FLAGS_device, "; auto, cuda and cpu are known"));
  }
  request.device = "cpu";
  if (FLAGS_device == "cpu") return std::nullopt;
  const FootprintOptions& options = request.footprint;
  const absl::StatusOr<int64_t> bytes =
      CudaWorkspaceBytes(graph, options.kv_type, options.context, options.prompt_batch);
  if (bytes.ok()) {
    request.device = "cuda";
    return *bytes;
  }
  if (FLAGS_device == "cuda") return MachineError(bytes.status().message());
  request.why_not_cuda = std::string(bytes.status().message());
  return std::nullopt;
}

// Both are taken as they are asked for by the engines, too.
void TellOfContext(const PlanRequest& request, int64_t model_context) {
  if (request.footprint.context > model_context) {
    Note(absl::StrCat("a context of ", request.footprint.context, " tokens is more than the ",
                      model_context, " that the model was made for"));
  }
  if (request.footprint.prompt_batch > request.footprint.context) {
    Note(absl::StrCat("prompts are computed ", request.footprint.context,
                      " tokens at once: no more fit into the context"));
  }
}

// Printed, and an error of the machine when the model does not fit.
absl::Status Report(const PlanRequest& request, const MachinePlan& plan, bool json) {
  const absl::Status outcome = plan.fits() ? absl::OkStatus() : MachineError(plan.shortage);
  if (json) {
    Json object = PlanJson(request, plan);
    if (!outcome.ok()) object["error"] = ErrorJson(outcome);
    PrintJson(object);
  } else {
    std::cout << PlanText(request, plan) << std::flush;
  }
  return outcome.ok() ? outcome : AlreadyPrinted(outcome);
}

absl::StatusOr<PlanRequest> RequestFromFlags(const ModelGraph& graph) {
  PlanRequest request = {.kv = FLAGS_kv};
  ASSIGN_OR_RETURN(request.machine, MachineFromFlags());
  const std::optional<KvType> kv = ParseKvType(FLAGS_kv);
  if (!kv.has_value()) {
    return UsageError(absl::StrCat("--kv is ", FLAGS_kv, "; f32, f16 and int8 are known"));
  }
  request.footprint = {
      .context = FLAGS_context > 0 ? FLAGS_context : std::min(kUsualContext, graph.context_length),
      .kv_type = *kv,
      .prompt_batch = FLAGS_prompt_batch};
  ASSIGN_OR_RETURN(request.footprint.snapshot_bytes, ParseByteSize(FLAGS_snapshot_memory));
  return request;
}

}  // namespace

absl::Status PrintPlan(const std::string& model, bool json) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(model));
  ASSIGN_OR_RETURN(const ModelGraph graph, BindModel(*file));
  ASSIGN_OR_RETURN(PlanRequest request, RequestFromFlags(graph));
  ASSIGN_OR_RETURN(const ModelConfig config, ModelConfig::Create(*file));
  ASSIGN_OR_RETURN(const ExpertLayout layout, ExpertLayout::Create(*file, config));
  std::optional<ExpertProfile> profile;
  if (!FLAGS_profile.empty()) {
    ASSIGN_OR_RETURN(const ModelIdentity identity, ModelIdentity::Of(*file, layout));
    ASSIGN_OR_RETURN(profile, LoadProfileOf(identity, FLAGS_profile));
  }
  TellOfContext(request, graph.context_length);
  ASSIGN_OR_RETURN(const std::optional<int64_t> on_cuda, CudaWorkspace(graph, request));
  FootprintOptions& options = request.footprint;
  if (options.prompt_batch == 0) {
    options.prompt_batch = on_cuda.has_value() ? kCudaPromptBatch : kCpuPromptBatch;
  }
  options.prompt_batch = std::min(options.prompt_batch, options.context);
  Footprint footprint = FootprintOf(*file, graph, request.footprint);
  if (on_cuda.has_value()) {
    footprint.workspace_bytes = *on_cuda;
    footprint.streams_layers = true;
  }
  const MachinePlan plan = PlanMachine(request.machine, footprint, ExpertGeometry(layout),
                                       profile.has_value() ? &*profile : nullptr);
  RETURN_IF_ERROR(file->CheckUnchanged());
  return Report(request, plan, json);
}

FlagGroup PlanFlagGroup() {
  return {.title = "With --plan",
          .flags = {"vram SIZE", "ram SIZE", "context", "profile FILE"},
          .rare = {"device NAME", "kv TYPE", "prompt_batch", "snapshot_memory SIZE",
                   "vram_reserve SIZE", "link_gbps X", "dram_gbps X", "gpu_gbps X", "disk_gbps X"}};
}

std::string FlagOfPlanGiven() {
  for (const char* flag :
       {"vram", "ram", "context", "kv", "device", "prompt_batch", "snapshot_memory", "profile",
        "vram_reserve", "link_gbps", "dram_gbps", "gpu_gbps", "disk_gbps"}) {
    if (!gflags::GetCommandLineFlagInfoOrDie(flag).is_default) return flag;
  }
  return "";
}

}  // namespace strata
