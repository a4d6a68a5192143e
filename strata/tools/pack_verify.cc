// Proves that a pack, its model and the slots filled from them are right: see kUsage.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/pack/pack_checkpoint.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_plan.h"
#include "strata/cache/pack/pack_verifier.h"
#include "strata/cache/pack/slot_reference.h"
#include "strata/core/cli/error_report.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/progress.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/tools/fill_command.h"
#include "strata/tools/proof_view.h"

DEFINE_string(
    model, "",
    "GGUF file of the pack's model; for a split model any of its files. Default: where it "
    "was when the pack was built.");
DEFINE_bool(quick, false,
            "Compare sizes, what is small and one expert of each layer; the rest is not checked.");
DEFINE_bool(fill, false,
            "Then fill the slots of a cache as an engine does and read every one of them back.");
DEFINE_int32(threads, 0, "Threads that read and hash; 0: one for each CPU, eight at most.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");

DEFINE_validator(threads, &strata::IsNotNegative);

namespace strata {
namespace {

constexpr char kUsage[] =
    "pack_verify DIR [--model FILE] [--quick] [--fill --slots N [--lend N] [--swaps N]]\n"
    "pack_verify MODEL --fill --slots N [--lend N] [--swaps N]\n"
    "Compares every byte of a pack and its model with the manifest, names what differs, and goes\n"
    "on to the end. With --fill it drives the path that fills a cache, on a GPU where there is "
    "one,\n"
    "and compares every slot, also after loans and swaps.";

constexpr int kMostThreads = 8;

// The model, as far as it can be opened.
struct Model {
  std::unique_ptr<GgufFile> file;
  ExpertLayout layout;
  ModelIdentity identity;
};

absl::StatusOr<Model> OpenModel(const std::string& path) {
  Model model;
  ASSIGN_OR_RETURN(model.file, GgufFile::Open(path));
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(*model.file);
  if (!config.ok()) return WithFile(config.status(), path);
  absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(*model.file, *config);
  if (!layout.ok()) return WithFile(layout.status(), path);
  model.layout = *std::move(layout);
  ASSIGN_OR_RETURN(model.identity, ModelIdentity::Of(*model.file, model.layout));
  return model;
}

// What is wrong with it is worth going on for: files of the sizes that the pack knows are damaged,
// others are another model.
bool HasSizesOf(const PackManifest& pack, const PackManifest& model) {
  return std::equal(pack.shards.begin(), pack.shards.end(), model.shards.begin(),
                    model.shards.end(),
                    [](const auto& a, const auto& b) { return a.bytes == b.bytes; });
}

// The pack's file of experts, or null when it has none.
absl::StatusOr<std::unique_ptr<Pack>> OpenExperts(const std::string& folder,
                                                  const PackManifest& manifest) {
  if (!manifest.layout.has_value()) return nullptr;
  return Pack::Open(folder);
}

// Collects what was found and prints it.
class Verification {
 public:
  explicit Verification(const std::string& subject) : subject_(subject) {
    json_ = {{"subject", subject}};
  }

  absl::Status VerifyPack(int num_threads) {
    ASSIGN_OR_RETURN(manifest_, LoadPackManifest(subject_));
    TellOfUnfinishedBuild();
    const std::string path = FLAGS_model.empty() ? manifest_->model : FLAGS_model;
    model_ = OpenModel(path);
    if (ExitCodeOf(model_.status()) == ExitCode::kMachine) return model_.status();
    if (model_.ok()) {
      const PackManifest of_model = PlanManifest(*model_->file, model_->layout, model_->identity);
      const absl::Status is_of_model = CheckIsOf(*manifest_, of_model);
      if (!is_of_model.ok() && !HasSizesOf(*manifest_, of_model)) {
        return WithFile(is_of_model, subject_);
      }
      if (!is_of_model.ok()) AddProblem(absl::StrCat(path, ": ", is_of_model.message()));
    }
    PackVerifier verifier(*manifest_,
                          {.folder = subject_,
                           .model = path,
                           .quick = FLAGS_quick,
                           .num_threads = num_threads,
                           .progress = [this](int64_t bytes) { progress_->Add(bytes); }});
    progress_.emplace(Progress::Options{
        .label = "verifying", .total = verifier.num_bytes(), .unit = Progress::Unit::kBytes});
    ASSIGN_OR_RETURN(const PackReport report, verifier.Verify());
    progress_.reset();
    num_differences_ += std::ssize(report.file_problems) + std::ssize(report.findings);
    json_["model"] = path;
    json_["files"] = ReportJson(*manifest_, report);
    if (!FLAGS_json) std::cout << ReportText(*manifest_, report) << std::flush;
    return absl::OkStatus();
  }

  absl::Status VerifyFill() {
    if (!manifest_.has_value()) model_ = OpenModel(subject_);
    RETURN_IF_ERROR(model_.status());
    std::unique_ptr<Pack> pack;
    if (manifest_.has_value()) {
      ASSIGN_OR_RETURN(pack, OpenExperts(subject_, *manifest_));
      RETURN_IF_ERROR(
          CheckIsOf(*manifest_, PlanManifest(*model_->file, model_->layout, model_->identity)));
    }
    const ExpertFiles model(*model_->file, model_->layout);
    const ExpertFiles files = pack == nullptr ? model : pack->Experts(model_->layout);
    const SlotReference reference(model, model_->identity.geometry,
                                  manifest_.has_value() ? &*manifest_ : nullptr);
    ASSIGN_OR_RETURN(
        FillResult result,
        RunFill(
            {.identity = model_->identity, .files = files, .model = model, .reference = reference},
            FLAGS_json));
    num_differences_ += result.num_mismatches;
    json_["slots"] = std::move(result.json);
    return absl::OkStatus();
  }

  // What came of it, `ended` being how the work did, and the status of all.
  absl::Status Finish(absl::Status ended) {
    if (ended.ok() && num_differences_ > 0) {
      ended = InputError("pack_differs", subject_,
                         num_differences_ == 1
                             ? "1 difference was found"
                             : absl::StrCat(num_differences_, " differences were found"));
    }
    if (FLAGS_json) {
      json_["differences"] = num_differences_;
      if (!ended.ok()) json_["error"] = ErrorJson(ended);
      PrintJson(json_);
      ended = AlreadyPrinted(std::move(ended));
    } else if (ended.ok()) {
      std::cout << (FLAGS_quick ? "no difference in what was checked\n" : "all is right\n");
    }
    return ended;
  }

 private:
  // The pack is whole all the same.
  void TellOfUnfinishedBuild() {
    const absl::StatusOr<PackCheckpoint> unfinished =
        PackCheckpoint::Load(PackFolder(subject_).checkpoint());
    if (!unfinished.ok()) return;
    json_["unfinished_build"] = unfinished->resume;
    std::cerr << "pack_verify: beside this pack lies a build that did not end, resume with: "
              << WithoutControls(unfinished->resume) << std::endl;
  }

  void AddProblem(const std::string& problem) {
    ++num_differences_;
    json_["problem"] = problem;
    if (!FLAGS_json) std::cout << "differs: " << WithoutControls(problem) << "\n";
  }

  const std::string subject_;
  std::optional<PackManifest> manifest_;
  absl::StatusOr<Model> model_ = absl::UnknownError("");
  std::optional<Progress> progress_;
  int64_t num_differences_ = 0;
  Json json_;
};

absl::Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    return UsageError("name one pack or one GGUF file; --help lists the flags");
  }
  if (!FLAGS_fill && !FlagOfFillGiven().empty()) {
    return UsageError(absl::StrCat("--", FlagOfFillGiven(), " goes with --fill"));
  }
  RETURN_IF_ERROR(CheckFillFlags());
  ASSIGN_OR_RETURN(int num_threads, ThreadCount(FLAGS_threads));
  if (FLAGS_threads == 0) num_threads = std::min(num_threads, kMostThreads);
  std::error_code unknown;
  const bool is_pack = std::filesystem::is_directory(arguments[0], unknown);
  if (!is_pack && !FLAGS_fill) {
    return UsageError(absl::StrCat(arguments[0],
                                   " is no folder of a pack; of a model alone slots can be "
                                   "verified: --fill"));
  }
  if (!is_pack && (FLAGS_quick || !FLAGS_model.empty())) {
    return UsageError("--quick and --model go with a pack");
  }
  Verification verification(arguments[0]);
  if (is_pack) RETURN_IF_ERROR(verification.VerifyPack(num_threads));
  return verification.Finish(FLAGS_fill ? verification.VerifyFill() : absl::OkStatus());
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage = strata::kUsage,
       .json = &FLAGS_json,
       .groups = {{.title = "What to verify",
                   .flags = {"model FILE", "quick", "fill"},
                   .rare = {"threads"}},
                  {.title = "Filling slots",
                   .flags = {"slots SIZE", "lend", "swaps", "profile FILE", "device NAME"},
                   .rare = {"expert_source NAME", "pin_budget SIZE", "seed"}},
                  {.title = "Output", .flags = {"json"}}}},
      strata::Run, argc, argv);
}
