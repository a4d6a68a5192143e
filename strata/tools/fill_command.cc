#include "strata/tools/fill_command.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gflags/gflags.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/pack/fill_proof.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/tier/fill_queue.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/progress.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/tools/proof_view.h"
#include "strata/tools/tool_device.h"

DEFINE_string(slots, "100%", "--fill: slots to fill: a number, a share (25%) or bytes (8GiB).");
DEFINE_int32(lend, 0, "--fill: then lend so many slots, let them come back, and verify again.");
DEFINE_int32(swaps, 0, "--fill: then swap so many random experts, and verify again.");
DEFINE_uint64(seed, 1, "--fill: of the random swaps.");
DEFINE_string(profile, "", "--fill: a profile of the model; its hottest experts fill the slots.");
DEFINE_string(device, "auto", "--fill: cpu, cuda or auto: a GPU if there is one.");
DEFINE_string(
    expert_source, "auto",
    "--fill: where experts lie in host memory: registered, arena, stage, pageable, auto.");
DEFINE_string(pin_budget, "",
              "--fill: bytes of host memory to pin at most; empty: what the machine allows.");

DEFINE_validator(lend, &strata::IsNotNegative);
DEFINE_validator(swaps, &strata::IsNotNegative);
DEFINE_validator(pin_budget, &strata::IsByteSize);

namespace strata {
namespace {

absl::StatusOr<FillProof::Options> OptionsFromFlags() {
  FillProof::Options options = {.seed = FLAGS_seed};
  absl::StatusOr<SlotBudget> slots = SlotBudget::Parse(FLAGS_slots);
  if (!slots.ok()) return UsageError(absl::StrCat("--slots: ", slots.status().message()));
  options.slots = *slots;
  const std::optional<HostPlacement::Choice> choice =
      HostPlacement::ParseChoice(FLAGS_expert_source);
  if (!choice.has_value()) {
    return UsageError(absl::StrCat("--expert_source is ", FLAGS_expert_source,
                                   "; known are registered, arena, stage, pageable and auto"));
  }
  options.host.choice = *choice;
  if (!FLAGS_pin_budget.empty()) {
    ASSIGN_OR_RETURN(options.host.pin_budget, ParseByteSize(FLAGS_pin_budget));
  }
  return options;
}

// Runs the passes one after the other.
class Passes {
 public:
  Passes(const ExpertFiles& model, FillProof& proof, bool quiet)
      : model_(model), proof_(proof), quiet_(quiet) {}

  absl::Status Fill() {
    Progress progress({.label = "filling slots",
                       .total = proof_.tier().slots().plan().bytes(),
                       .unit = Progress::Unit::kBytes});
    int64_t bytes_shown = 0;
    ASSIGN_OR_RETURN(fill_, proof_.Fill([&](const FillProgress& now) {
      progress.Add(now.bytes_done - std::exchange(bytes_shown, now.bytes_done));
    }));
    Say(absl::StrFormat("%d slots filled, %s in %.3f s (%.1f GB/s)\n", fill_.num_experts,
                        FormatByteSize(fill_.num_bytes), fill_.seconds, fill_.gb_per_s()));
    ASSIGN_OR_RETURN(const FillProof::Verified first, proof_.VerifyFirst());
    if (first.num_slots == 1 && first.faults.empty()) Say("slot 0 verified\n");
    return Verify("fill");
  }

  absl::Status Verify(const std::string& name) {
    ProofPass pass = {.name = name};
    ASSIGN_OR_RETURN(pass.verified, proof_.VerifyAll());
    num_mismatches_ += static_cast<int64_t>(pass.verified.faults.size());
    Say(PassText(model_, pass));
    json_.push_back(PassJson(model_, pass));
    return absl::OkStatus();
  }

  FillResult Result(const Device& device) {
    return {.num_mismatches = num_mismatches_,
            .json = {{"device", device.properties().name},
                     {"is_gpu", device.properties().is_gpu},
                     {"host_memory", proof_.host().Describe()},
                     {"fill",
                      {{"slots", fill_.num_experts},
                       {"bytes", fill_.num_bytes},
                       {"seconds", fill_.seconds},
                       {"gb_per_s", fill_.gb_per_s()}}},
                     {"passes", std::move(json_)}}};
  }

 private:
  void Say(const std::string& text) const {
    if (!quiet_) std::cout << text << std::flush;
  }

  const ExpertFiles& model_;
  FillProof& proof_;
  const bool quiet_;
  FillReport fill_;
  int64_t num_mismatches_ = 0;
  Json json_ = Json::array();
};

}  // namespace

std::string FlagOfFillGiven() {
  for (const char* flag :
       {"slots", "lend", "swaps", "seed", "profile", "device", "expert_source", "pin_budget"}) {
    if (!gflags::GetCommandLineFlagInfoOrDie(flag).is_default) return flag;
  }
  return "";
}

absl::Status CheckFillFlags() { return OptionsFromFlags().status(); }

absl::StatusOr<FillResult> RunFill(const FillTask& task, bool quiet) {
  ASSIGN_OR_RETURN(FillProof::Options options, OptionsFromFlags());
  if (!FLAGS_profile.empty()) {
    ASSIGN_OR_RETURN(const ExpertProfile profile, LoadProfileOf(task.identity, FLAGS_profile));
    options.hottest_first = profile.Rank();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, OpenToolDevice(FLAGS_device, ""));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<FillProof> proof,
      FillProof::Create(options, task.identity.geometry, task.files, task.reference, *device));
  if (proof->tier().slots().num_slots() == 0) {
    return UsageError(absl::StrCat("--slots ", FLAGS_slots, " is not one slot; an expert takes ",
                                   task.files.max_blob_bytes(), " bytes at most"));
  }
  if (!quiet) {
    std::cout << "device: " << device->properties().name << "; " << proof->host().Describe()
              << std::endl;
  }
  Passes passes(task.model, *proof, quiet);
  RETURN_IF_ERROR(passes.Fill());
  if (FLAGS_lend > 0) {
    RETURN_IF_ERROR(proof->LendAndRefill(FLAGS_lend));
    RETURN_IF_ERROR(passes.Verify(absl::StrCat("lend ", FLAGS_lend)));
  }
  if (FLAGS_swaps > 0) {
    RETURN_IF_ERROR(proof->Swap(FLAGS_swaps));
    RETURN_IF_ERROR(passes.Verify(absl::StrCat("swaps ", FLAGS_swaps)));
  }
  RETURN_IF_ERROR(task.files.CheckUnchanged());
  RETURN_IF_ERROR(task.model.CheckUnchanged());
  return passes.Result(*device);
}

}  // namespace strata
