// A model opened for text: its file, its engine and its tokenizer.
#ifndef STRATA_GENERATE_LOADING_TEXT_MODEL_H_
#define STRATA_GENERATE_LOADING_TEXT_MODEL_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/placement/placed_experts.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class TextModel {
 public:
  struct Counters {
    Engine::Counters engine;
    TierCounters tier;  // All zero without one.
  };

  // The errors of GgufFile, BindModel, LoadTokenizer and ExpertPlacement; kind tokenizer_ids when the
  // tokenizer has more tokens than the model. Shows progress on stderr while the file is read into
  // memory and slots are filled. Without options for experts they are used in the mapping, and
  // there is no tier.
  static absl::StatusOr<std::unique_ptr<TextModel>> Open(
      const std::string& path, const EngineOptions& options,
      const std::optional<ExpertPlacement::Options>& experts = std::nullopt);

  const GgufFile& file() const { return *file_; }
  const ModelGraph& graph() const { return graph_; }
  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  // Null without a tier, as for a model without experts.
  ExpertPlacement* experts() { return experts_.get(); }
  const ExpertPlacement* experts() const { return experts_.get(); }
  // Since it was opened.
  Counters counters() const;
  // Once, at the end of a run: what was recorded of it gets its name.
  absl::Status FinishTrace();
  // Null when the file has no tokenizer: such a model takes and gives ids alone.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  // The tokenizer, or an error of kind tokenizer_missing.
  absl::StatusOr<const Tokenizer*> NeedTokenizer() const;

 private:
  TextModel() = default;

  std::unique_ptr<GgufFile> file_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ModelGraph graph_;
  std::unique_ptr<Device> device_;  // That has the slots.
  std::unique_ptr<ExpertPlacement> experts_;
  std::unique_ptr<PlacedExperts> placed_;  // The same, for the CPU's engine.
  std::unique_ptr<Engine> engine_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_LOADING_TEXT_MODEL_H_
