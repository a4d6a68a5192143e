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
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/footprint.h"
#include "strata/tools/machine_plan.h"
#include "strata/tools/plan_view.h"

DEFINE_string(vram, "", "With --plan: bytes of GPU memory, like 12GiB.");
DEFINE_string(ram, "", "With --plan: bytes of host memory that are free, like 64GiB.");
DEFINE_int32(context, 0, "With --plan: tokens of context; 0: 4096, or what the model allows.");
DEFINE_string(kv, "f16", "With --plan: how the context is kept: f32, f16 or int8.");
DEFINE_string(device, "auto",
              "With --plan: what computes: cuda, cpu, or auto for cuda where it runs the model.");
DEFINE_int32(prompt_batch, 0,
             "With --plan: tokens of the prompt computed at once; 0: 4096 on a GPU, else 128.");
DEFINE_string(snapshot_memory, "1GiB",
              "With --plan: bytes of snapshots of a memory that cannot be cut back, at most.");
DEFINE_string(profile, "", "With --plan: a profile of the model's experts (profile_build).");
DEFINE_string(vram_reserve, "512MiB", "With --plan: GPU memory for the driver and others.");
DEFINE_double(link_gbps, strata::Machine().link_gb_per_s,
              "With --plan: GB/s that the link to the GPU reaches.");
DEFINE_double(dram_gbps, strata::Machine().dram_gb_per_s,
              "With --plan: GB/s that host memory reaches.");
DEFINE_double(gpu_gbps, strata::Machine().gpu_gb_per_s,
              "With --plan: GB/s that GPU memory reaches.");
DEFINE_double(disk_gbps, strata::Machine().disk_gb_per_s,
              "With --plan: GB/s at which the file is read.");

DEFINE_validator(vram, &strata::IsByteSize);
DEFINE_validator(ram, &strata::IsByteSize);
DEFINE_validator(vram_reserve, &strata::IsByteSize);
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

// Whether the plan is for kernels on a GPU, of which it then has the workspace.
absl::StatusOr<std::optional<int64_t>> CudaWorkspace(const ModelGraph& graph,
                                                     const FootprintOptions& options) {
  if (FLAGS_device != "auto" && FLAGS_device != "cuda" && FLAGS_device != "cpu") {
    return UsageError(absl::StrCat("--device is ", FLAGS_device, "; auto, cuda and cpu are known"));
  }
  if (FLAGS_device == "cpu") return std::nullopt;
  const absl::StatusOr<int64_t> bytes =
      CudaWorkspaceBytes(graph, options.kv_type, options.context, options.prompt_batch);
  if (bytes.ok()) return *bytes;
  if (FLAGS_device == "cuda") return MachineError(bytes.status().message());
  return std::nullopt;
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
  ASSIGN_OR_RETURN(const std::optional<int64_t> on_cuda, CudaWorkspace(graph, request.footprint));
  if (request.footprint.prompt_batch == 0) {
    request.footprint.prompt_batch = on_cuda.has_value() ? kCudaPromptBatch : kCpuPromptBatch;
  }
  Footprint footprint = FootprintOf(*file, graph, request.footprint);
  if (on_cuda.has_value()) {
    footprint.workspace_bytes = *on_cuda;
    footprint.streams_layers = true;
  }
  const MachinePlan plan = PlanMachine(request.machine, footprint, ExpertGeometry(layout),
                                       profile.has_value() ? &*profile : nullptr);
  RETURN_IF_ERROR(file->CheckUnchanged());
  if (json) {
    PrintJson(PlanJson(request, plan));
  } else {
    std::cout << PlanText(request, plan);
  }
  return absl::OkStatus();
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
