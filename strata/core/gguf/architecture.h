// The model architectures that metadata can be read of, each with what its files leave unsaid.
//
// The names are values of `general.architecture`. What is a key in a file beats what stands here.
// Which of them can be run is a narrower list, kept where models are run.
#ifndef STRATA_CORE_GGUF_ARCHITECTURE_H_
#define STRATA_CORE_GGUF_ARCHITECTURE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

// Which values of a head rotate together: neighbours, halves, or halves with several position
// streams (equal to halves for text).
enum class RopeKind { kNone, kNeighbours, kHalves, kHalvesWithSections };

// How router logits become probabilities. Values are those of the key expert_gating_func.
enum class ExpertGating { kSoftmax = 1, kSigmoid = 2, kSoftmaxOfChosen = 3, kSqrtSoftplus = 4 };

// Between gate and down. kClampedSwiglu is gpt-oss's, with bounds on both factors.
enum class ExpertActivation { kSilu, kGelu, kRelu, kSquaredRelu, kClampedSwiglu, kSitu };

struct Architecture {
  absl::string_view name;
  absl::string_view title;  // For people.
  RopeKind rope = RopeKind::kNeighbours;
  ExpertGating gating = ExpertGating::kSoftmax;
  // Files with a vocabulary of this size that do not say so have sigmoid gating.
  int64_t sigmoid_vocabulary = 0;
  // Are the chosen experts' weights divided by their sum?
  bool normalizes_weights = true;
  ExpertActivation activation = ExpertActivation::kSilu;
  // Experts are up and down alone.
  bool experts_lack_gate = false;
  // The weight multiplies an expert's input and not its output.
  bool weighs_input = false;
  // Some blocks are only a mixer, without a feed-forward part.
  bool blocks_may_lack_ffn = false;
};

// Ascending by name.
absl::Span<const Architecture> AllArchitectures();

// Null when there is none of that name.
const Architecture* FindArchitecture(absl::string_view name);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_ARCHITECTURE_H_
