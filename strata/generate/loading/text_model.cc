#include "strata/generate/loading/text_model.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_device.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/loading/warm_up.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/placement/placed_experts.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

// "none" is what writers put where a model has no vocabulary.
bool HasTokenizer(const GgufFile& file) {
  const GgufValue* const model = file.FindKey("tokenizer.ggml.model");
  if (model != nullptr && (model->AsString() == "none" || model->AsString() == "no_vocab")) {
    return false;
  }
  for (const GgufKey& key : file.shards()[0]->keys()) {
    if (absl::StartsWith(key.key, "tokenizer.ggml.")) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TextModel>> TextModel::Open(
    const std::string& path, const EngineOptions& options,
    const std::optional<PlacedExperts::Options>& experts) {
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
  if (options.max_context > model->graph_.context_length) {
    LOG(WARNING) << "a context of " << options.max_context << " tokens is more than the "
                 << model->graph_.context_length << " that the model was made for";
  }
  WarmUp(*model->file_);
  RETURN_IF_ERROR(model->file_->CheckUnchanged());
  if (experts.has_value()) {
    model->device_ = std::make_unique<HostDevice>();
    ASSIGN_OR_RETURN(model->experts_, PlacedExperts::Create(*experts, *model->file_, model->graph_,
                                                            *model->device_));
  }
  model->engine_ =
      std::make_unique<CpuEngine>(*model->file_, model->graph_, options, model->experts_.get());
  return model;
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
