// Measures what the path from host memory to the device can do on this machine.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/host_memory.h"
#include "strata/core/note.h"
#include "strata/core/pin_budget.h"
#include "strata/core/pin_limits.h"
#include "strata/core/status_macros.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/experiments.h"
#include "strata/tools/stage_experiments/measurement.h"
#include "strata/tools/stage_experiments/report.h"
#include "strata/tools/stage_experiments/synthetic_model.h"
#include "strata/tools/stage_experiments/temporary_file.h"
#include "strata/tools/tool_device.h"

DEFINE_string(model, "", "A GGUF model whose experts are moved. Default: a synthetic one.");
DEFINE_string(
    pack, "",
    "A pack of the model (pack_build --layout): jobs read its experts.bin in place of the "
    "model's slices, and fills from both are compared.");
DEFINE_string(synthetic, "",
              "LAYERSxEXPERTSxBYTES of the synthetic model, as in 48x128x1.5MiB; it is written "
              "to $TMPDIR without a name, so nothing stays there. Default: as many experts of "
              "--copy_bytes as the jobs need, 14.8 GiB on a GPU.");
DEFINE_string(
    arms, "",
    "Comma-separated experiments: copies, pack, pinning, queued, kernels, readers, jobs. Default: "
    "all.");
DEFINE_string(device, "auto", "cpu, cuda or auto: a GPU if there is one.");
DEFINE_bool(quick, false, "Smaller sizes, done in under 20 seconds; the default without a GPU.");
DEFINE_bool(verify, false,
            "Read every slot back after each run of a job and compare it with the file.");
DEFINE_bool(json, false, "Print one JSON object instead of tables.");
DEFINE_string(copy_bytes, "", "Size of a single copy. Default: 1.5MiB.");
DEFINE_int32(slots, 0, "Slots that the cache fill fills. Default: 10000, 128 with --quick.");
DEFINE_int32(readers, 0, "Most reader threads. Default: 12, 8 with --quick.");
DEFINE_string(pin_budget, "",
              "Most bytes of host memory to pin. Default: what this machine allows.");
DEFINE_string(stage_memory, "pinned", "pinned or pageable: the memory of stages.");

DEFINE_validator(copy_bytes, &strata::IsByteSize);
DEFINE_validator(slots, &strata::IsNotNegative);
DEFINE_validator(readers, &strata::IsNotNegative);
DEFINE_validator(pin_budget, &strata::IsMemorySize);

namespace strata::stagebench {
namespace {

constexpr int64_t kMostCopyBytes = int64_t{256} << 20;
constexpr int kMostSlots = 1 << 20;
constexpr int kMostReaders = 256;

// The sizes of a GPU would fill the memory of a machine without one, and its figures mean little.
absl::StatusOr<Effort> ChooseEffort(const Device& device) {
  Effort effort = FLAGS_quick || !device.properties().is_gpu ? Effort::Quick() : Effort();
  if (!FLAGS_copy_bytes.empty()) {
    ASSIGN_OR_RETURN(effort.copy_bytes, ParseByteSize(FLAGS_copy_bytes));
    if (effort.copy_bytes < 16 || effort.copy_bytes > kMostCopyBytes) {
      return UsageError("--copy_bytes must be 16 or more, and at most 256MiB");
    }
  }
  if (FLAGS_slots > kMostSlots) {
    return UsageError(absl::StrCat("--slots must be at most ", kMostSlots));
  }
  if (FLAGS_readers > kMostReaders) {
    return UsageError(absl::StrCat("--readers must be at most ", kMostReaders));
  }
  if (FLAGS_slots > 0) effort.fill_slots = FLAGS_slots;
  if (FLAGS_readers > 0) effort.num_readers = FLAGS_readers;
  return effort;
}

absl::StatusOr<HostMemory::Options> StageMemory() {
  if (FLAGS_stage_memory == "pinned") return HostMemory::Options{};
  if (FLAGS_stage_memory == "pageable")
    return HostMemory::Options{.form = HostMemoryForm::kPageable};
  return UsageError(
      absl::StrCat("--stage_memory=", FLAGS_stage_memory, " is neither pinned nor pageable"));
}

absl::StatusOr<std::unique_ptr<PinBudget>> ChoosePinBudget(const Device& device) {
  if (!FLAGS_pin_budget.empty()) {
    ASSIGN_OR_RETURN(const int64_t bytes, ParseByteSize(FLAGS_pin_budget));
    return std::make_unique<PinBudget>(bytes, "--pin_budget");
  }
  const DefaultPinBudget chosen =
      ChooseDefaultPinBudget(ReadPinLimits(), device.properties().pins_count_as_locked);
  return std::make_unique<PinBudget>(chosen.bytes, chosen.origin);
}

// The model that is there, or a synthetic one, which exists as long as it is open.
absl::StatusOr<std::unique_ptr<GgufFile>> OpenModel(const Effort& effort) {
  if (!FLAGS_model.empty()) return GgufFile::Open(FLAGS_model);
  const std::string shape_text =
      !FLAGS_synthetic.empty()
          ? FLAGS_synthetic
          : absl::StrCat((effort.fill_slots + 127) / 128, "x128x", effort.copy_bytes);
  ASSIGN_OR_RETURN(const SyntheticShape shape, ParseSyntheticShape(shape_text));
  const int64_t bytes = SyntheticModelBytes(shape);
  const std::string folder = TemporaryFolder();
  ASSIGN_OR_RETURN(const FileDescriptor model, CreateTemporaryFile(folder, bytes));
  Note(absl::StrCat("a synthetic model of ", FormatByteSize(bytes), " in ", folder));
  RETURN_IF_ERROR(WriteSyntheticModel(shape, PathOf(model)));
  return GgufFile::Open(PathOf(model));
}

absl::StatusOr<ExpertLayout> LayoutOf(const GgufFile& file) {
  ASSIGN_OR_RETURN(const ModelConfig config, ModelConfig::Create(file));
  ASSIGN_OR_RETURN(ExpertLayout layout, ExpertLayout::Create(file, config));
  if (layout.empty())
    return InputError("moe_counts", file.path(), "the model has no experts to move");
  return layout;
}

void PrintResults(const Device& device, const PinBudget& budget, const Effort& effort,
                  const std::vector<Measurement>& results) {
  const DeviceProperties& properties = device.properties();
  if (FLAGS_json) {
    PrintJson({{"device", properties.name},
               {"is_gpu", properties.is_gpu},
               {"model", FLAGS_model.empty() ? "synthetic" : FLAGS_model},
               {"pack", FLAGS_pack},
               {"copy_bytes", effort.copy_bytes},
               {"pin_budget_bytes", budget.limit_bytes()},
               {"measurements", ReportJson(results)}});
    return;
  }
  std::cout << "device: " << properties.name
            << (properties.is_gpu ? "" : " (memory of the host: these are not figures of a GPU)")
            << "\ncopies of " << FormatByteSize(effort.copy_bytes) << "; pin budget "
            << FormatByteSize(budget.limit_bytes()) << " (" << budget.origin()
            << ")\nfigures: median (first to third quartile)\n\n"
            << ReportText(results);
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("stagebench takes flags alone; --help lists them");
  if (!FLAGS_model.empty() && !FLAGS_synthetic.empty()) {
    return UsageError("--model and --synthetic exclude each other");
  }
  if (!FLAGS_pack.empty() && FLAGS_model.empty()) {
    return UsageError("--pack goes with --model, whose pack it is");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ParseExperiments(FLAGS_arms.empty() ? AllExperiments() : FLAGS_arms));
  if (FLAGS_verify && std::find(names.begin(), names.end(), "jobs") == names.end()) {
    return UsageError("--verify checks the slots of jobs, which --arms leaves out");
  }
  ASSIGN_OR_RETURN(const HostMemory::Options stage_memory, StageMemory());
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                   OpenToolDevice(FLAGS_device, ", and the figures are not of a GPU"));
  ASSIGN_OR_RETURN(const Effort effort, ChooseEffort(*device));
  ASSIGN_OR_RETURN(const std::unique_ptr<PinBudget> budget, ChoosePinBudget(*device));
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, OpenModel(effort));
  ASSIGN_OR_RETURN(const ExpertLayout layout, LayoutOf(*file));
  Bench bench = {.device = *device,
                 .budget = *budget,
                 .stage_memory = stage_memory,
                 .file = *file,
                 .layout = layout,
                 .effort = effort};
  std::unique_ptr<Pack> pack;
  std::optional<ExpertFiles> experts_of_pack;
  if (!FLAGS_pack.empty()) {
    ASSIGN_OR_RETURN(const ModelIdentity identity, ModelIdentity::Of(*file, layout));
    ASSIGN_OR_RETURN(pack, Pack::OpenFor(FLAGS_pack, *file, layout, identity));
    bench.pack = &experts_of_pack.emplace(pack->Experts(layout));
  }
  ASSIGN_OR_RETURN(const std::vector<Measurement> results,
                   RunExperiments(names, FLAGS_verify, bench));
  RETURN_IF_ERROR(file->CheckUnchanged());
  if (pack != nullptr) RETURN_IF_ERROR(pack->experts().CheckUnchanged());
  PrintResults(*device, *budget, effort, results);
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata::stagebench

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage =
           "stagebench [--model FILE [--pack DIR] | --synthetic LAYERSxEXPERTSxBYTES] [flags]\n"
           "\n"
           "Measures the path of expert weights from host memory to the device: single copies,\n"
           "pinning, queued copies, kernels that read host memory, and the jobs of an engine.",
       .json = &FLAGS_json,
       .groups = {{.title = "What to measure",
                   .flags = {"arms LIST", "model FILE", "pack DIR", "quick", "device NAME",
                             "verify"},
                   .rare = {"synthetic SHAPE", "copy_bytes SIZE", "slots", "readers"}},
                  {.title = "Memory", .flags = {"pin_budget SIZE"}, .rare = {"stage_memory NAME"}},
                  {.title = "Output", .flags = {"json"}}}},
      strata::stagebench::Run, argc, argv);
}
