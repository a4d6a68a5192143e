#include "strata/generate/loading/text_model.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/core/cuda_device.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_device.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/loading/warm_up.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/placement/placed_experts.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

// Of cards with the arithmetic that kernels are compiled for.
constexpr int kOldestCapability = 80;

}  // namespace

std::optional<TextModel::ComputesOn> TextModel::ParseComputesOn(absl::string_view name) {
  if (name == "auto") return ComputesOn::kAuto;
  if (name == "cpu") return ComputesOn::kCpu;
  if (name == "cuda") return ComputesOn::kCuda;
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<TextModel>> TextModel::Open(const std::string& path,
                                                           const Options& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<TextModel> model, Read(path));
  RETURN_IF_ERROR(model->Start(options));
  return model;
}

absl::StatusOr<std::unique_ptr<TextModel>> TextModel::Read(const std::string& path) {
  std::unique_ptr<TextModel> model(new TextModel);
  ASSIGN_OR_RETURN(model->file_, GgufFile::Open(path));
  ASSIGN_OR_RETURN(model->graph_, BindModel(*model->file_));
  for (const std::string& remark : model->graph_.remarks) LOG(WARNING) << path << ": " << remark;
  if (HasTokenizer(*model->file_)) {
    ASSIGN_OR_RETURN(model->tokenizer_, LoadTokenizer(*model->file_));
    if (model->tokenizer_->num_tokens() > model->graph_.vocabulary) {
      return InputError("tokenizer_ids", path,
                        absl::StrCat("the tokenizer has ", model->tokenizer_->num_tokens(),
                                     " tokens, the model ", model->graph_.vocabulary));
    }
  }
  model->start_times_.EndPart("file");
  return model;
}

int64_t TextModel::ContextFor(const EngineOptions& options) const {
  return options.max_context > 0 ? options.max_context : graph_.context_length;
}

absl::Status TextModel::Start(const Options& options) {
  start_times_.EndPart("prompt");
  if (options.engine.max_context > graph_.context_length) {
    LOG(WARNING) << "a context of " << options.engine.max_context << " tokens is more than the "
                 << graph_.context_length << " that the model was made for";
  }
  RETURN_IF_ERROR(CheckProfile(options.experts.profile));
  if (options.device == ComputesOn::kCpu) return StartOnCpu(options);
  const absl::Status started = StartOnCuda(options);
  if (started.ok()) {
    Note(absl::StrCat("computing on ", engine_->hardware().name));
    return started;
  }
  if (options.device == ComputesOn::kCuda) {
    if (!absl::IsUnavailable(started) && !absl::IsUnimplemented(started)) return started;
    return MachineError(absl::StrCat("--device=cuda: ", started.message()));
  }
  // A file's fault stays one on the CPU.
  if (!ErrorKind(started).empty()) return started;
  Note(absl::StrCat("computing on the CPU: ", started.message()));
  return StartOnCpu(options);
}

// Before weights are read, which takes a while.
absl::Status TextModel::CheckProfile(const std::string& path) const {
  if (path.empty() || graph_.experts.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ModelIdentity identity, ModelIdentity::Of(*file_, graph_.experts));
  return LoadProfileOf(identity, path).status();
}

absl::Status TextModel::StartOnCuda(const Options& options) {
  ASSIGN_OR_RETURN(device_, CreateCudaDevice({.memory_limit = options.vram_limit}));
  const DeviceProperties& card = device_->properties();
  if (card.compute_capability < kOldestCapability) {
    return absl::UnavailableError(
        absl::StrCat(card.name, " has compute capability ", card.compute_capability / 10, ".",
                     card.compute_capability % 10, "; ", kOldestCapability / 10, ".",
                     kOldestCapability % 10, " and newer are supported"));
  }
  start_times_.EndPart("gpu");
  ASSIGN_OR_RETURN(
      std::unique_ptr<CudaStepEngine> engine,
      CreateCudaEngine(
          {.engine = options.engine, .experts = options.experts, .start_times = &start_times_},
          *file_, graph_, *device_));
  experts_ = engine->experts();
  cuda_ = engine.get();
  engine_ = std::move(engine);
  return absl::OkStatus();
}

absl::Status TextModel::StartOnCpu(const Options& options) {
  if (options.experts.pack.empty()) {
    WarmUp(*file_);
    RETURN_IF_ERROR(file_->CheckUnchanged());
  }
  start_times_.EndPart("warm_up");
  if (options.places_experts) {
    device_ = std::make_unique<HostDevice>();
    ASSIGN_OR_RETURN(placement_,
                     ExpertPlacement::Create(options.experts, *file_, graph_, *device_));
  }
  if (placement_ != nullptr && placement_->pack() != nullptr) {
    WarmUpPack(*file_, placement_->pack()->experts());
    RETURN_IF_ERROR(file_->CheckUnchanged());
    RETURN_IF_ERROR(placement_->CheckUnchanged());
  }
  if (placement_ != nullptr) placed_ = std::make_unique<PlacedExperts>(*placement_);
  experts_ = placement_.get();
  start_times_.EndPart("experts");
  engine_ = std::make_unique<CpuEngine>(*file_, graph_, options.engine, placed_.get());
  start_times_.EndPart("workspace");
  return absl::OkStatus();
}

TextModel::Counters TextModel::counters() const {
  return {.engine = engine_->counters(),
          .tier = experts_ == nullptr ? TierCounters() : experts_->counters()};
}

absl::Status TextModel::FinishTrace() {
  return experts_ == nullptr ? absl::OkStatus() : experts_->FinishTrace();
}

absl::StatusOr<const Tokenizer*> TextModel::NeedTokenizer() const {
  if (tokenizer_ != nullptr) return tokenizer_.get();
  return InputError("tokenizer_missing", file_->path(),
                    "the file has no tokenizer; give ids with --tokens_file");
}

}  // namespace strata
